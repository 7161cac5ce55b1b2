package viewer

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"golang.org/x/sync/singleflight"
)

const (
	jwksEvery    = 10 * time.Minute // default of Config.RefreshEvery
	jwksPause    = 10 * time.Second // minimum interval
	jwksTimeout  = 5 * time.Second  // of one read
	jwksMaxBytes = 1 << 20
)

// keySet holds the public keys of a JWKS. It reads them again periodically, and when a
// token names an unknown key. Only one read runs at a time.
type keySet struct {
	source string // the file, or the URL without its password
	read   func(ctx context.Context) ([]byte, error)
	every  time.Duration // from one read to the next
	pause  time.Duration // minimum time between two reads
	log    *slog.Logger
	keys   atomic.Pointer[[]publicKey]
	ctx    context.Context // ends when close is called
	cancel context.CancelFunc
	done   sync.WaitGroup
	reads  singleflight.Group
	last   time.Time // when the last read began; used only by the running read
}

type publicKey struct {
	kid       string
	algorithm string // of the JWK; empty if every algorithm that suits the key is allowed
	key       any
	// removed is cancelled, by calling remove, once the set no longer holds the key.
	removed context.Context
	remove  context.CancelFunc
}

// same reports whether two entries have the same key, id and algorithm. Such entries
// verify the same tokens.
func (k publicKey) same(other publicKey) bool {
	key, is := k.key.(interface {
		Equal(other crypto.PublicKey) bool
	})
	return k.kid == other.kid && k.algorithm == other.algorithm && is && key.Equal(other.key)
}

func newKeySet(ctx context.Context, where string, every time.Duration, log *slog.Logger) (*keySet, error) {
	k := &keySet{source: where, every: every, pause: min(jwksPause, every/2), log: log}
	k.read = func(context.Context) ([]byte, error) { return readFile(where) }
	if scheme, _, isURL := strings.Cut(where, "://"); isURL {
		u, err := url.Parse(where)
		if err != nil {
			return nil, fmt.Errorf("the JWKS %s://... is not a valid URL", scheme)
		}
		if err := checkURL(u); err != nil {
			return nil, err
		}
		k.source = u.Redacted()
		k.read = func(ctx context.Context) ([]byte, error) { return fetch(ctx, u) }
	}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := k.load(ctx); err != nil {
		k.cancel()
		return nil, err
	}
	k.last = time.Now()
	k.done.Go(k.keepFresh)
	return k, nil
}

func (k *keySet) close() {
	k.cancel()
	k.done.Wait()
	<-k.reads.DoChan("", func() (any, error) { return struct{}{}, nil }) // waits for the running read
}

func (k *keySet) keepFresh() {
	ticker := time.NewTicker(k.every)
	defer ticker.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-ticker.C:
			k.refresh(k.ctx)
		}
	}
}

// find returns the keys that may have signed a token with this kid and algorithm. An
// empty kid matches all keys. If no key matches, find first reads the set again and waits
// for this read, at most until ctx ends. It does not read the set if the last read began
// less than k.pause ago.
func (k *keySet) find(ctx context.Context, kid, algorithm string) []publicKey {
	if found := k.known(kid, algorithm); len(found) > 0 {
		return found
	}
	k.refresh(ctx)
	return k.known(kid, algorithm)
}

// refresh reads the set again, or waits for the running read. If ctx ends first, refresh
// returns and the read continues.
func (k *keySet) refresh(ctx context.Context) {
	read := k.reads.DoChan("", func() (any, error) {
		k.reload()
		return struct{}{}, nil
	})
	select {
	case <-read:
	case <-ctx.Done():
	}
}

// current returns the keys in use, or nil if there is no key set. The pointer changes
// with each successful read of the set.
func (k *keySet) current() *[]publicKey {
	if k == nil {
		return nil
	}
	return k.keys.Load()
}

func (k *keySet) known(kid, algorithm string) []publicKey {
	var found []publicKey
	for _, key := range *k.keys.Load() {
		if (kid == "" || key.kid == kid) && (key.algorithm == "" || key.algorithm == algorithm) && usable(key.key, algorithm) {
			found = append(found, key)
		}
	}
	return found
}

// reload reads the set again, unless the last read began less than k.pause ago. If the
// read fails, the known keys stay in use.
func (k *keySet) reload() {
	if time.Since(k.last) < k.pause {
		return
	}
	k.last = time.Now()
	if err := k.load(k.ctx); err != nil && k.ctx.Err() == nil {
		k.log.Warn("the JWKS could not be read again; the known keys stay in use", "error", err)
	}
}

func (k *keySet) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, jwksTimeout)
	defer cancel()
	text, err := k.read(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missingFileError(k.source)
	case err != nil:
		return fmt.Errorf("read JWKS %s: %w", k.source, err)
	}
	keys, err := parseKeys(text)
	if err != nil {
		return fmt.Errorf("parse JWKS %s: %w", k.source, err)
	}
	k.replace(keys)
	return nil
}

// replace puts the given keys into use, and revokes the former keys that are not among
// the new ones.
func (k *keySet) replace(keys []publicKey) {
	var before []publicKey
	if current := k.keys.Load(); current != nil {
		before = slices.Clone(*current)
	}
	for i := range keys {
		if at := slices.IndexFunc(before, keys[i].same); at >= 0 {
			keys[i] = before[at]
			before = slices.Delete(before, at, at+1)
		} else {
			keys[i].removed, keys[i].remove = context.WithCancel(context.Background())
		}
	}
	k.keys.Store(&keys)
	for _, gone := range before {
		gone.remove()
	}
}

// parseKeys returns the keys that can verify a signature. It ignores all other keys,
// because a set may hold keys for other purposes.
func parseKeys(text []byte) ([]publicKey, error) {
	var set jwkset.JWKSMarshal
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New(`it is not a JSON Web Key Set, a JSON object with the member "keys"`)
	}
	var keys []publicKey
	for _, marshalled := range set.Keys {
		jwk, err := jwkset.NewJWKFromMarshal(marshalled, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err != nil || marshalled.USE != "" && marshalled.USE != jwkset.UseSig {
			continue
		}
		if key := jwk.Key(); usable(key, "RS256") || usable(key, "ES256") || usable(key, "EdDSA") {
			keys = append(keys, publicKey{kid: marshalled.KID, algorithm: marshalled.ALG.String(), key: key})
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("it holds no public key for RS256 (at least 2048 bits), ES256 (P-256) or EdDSA (Ed25519)")
	}
	return keys, nil
}

// missingFileError returns the error for a JWKS file that does not exist. If the path
// looks like a URL without its scheme, the error states how a URL begins.
func missingFileError(path string) error {
	host, _, _ := strings.Cut(path, "/")
	if strings.Contains(strings.Trim(host, "."), ".") && !strings.HasSuffix(host, ".json") {
		return fmt.Errorf("there is no file %q; a URL begins with https://", path)
	}
	return fmt.Errorf("there is no file %q", path)
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readBounded(file)
}

// fetch gets a URL. A redirect must satisfy checkURL as well, so that keys cannot be
// injected into a plain http response in transit.
func fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Close = true // the next read is minutes away
	client := http.Client{CheckRedirect: func(next *http.Request, past []*http.Request) error {
		if len(past) > 3 {
			return errors.New("too many redirects")
		}
		return checkURL(next.URL)
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", response.Status)
	}
	return readBounded(response.Body)
}

func readBounded(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, jwksMaxBytes+1))
	if err == nil && len(text) > jwksMaxBytes {
		err = fmt.Errorf("it is longer than %d bytes", jwksMaxBytes)
	}
	return text, err
}

func checkURL(u *url.URL) error {
	host := u.Hostname()
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("the JWKS %s must be a file or an https URL", u.Redacted())
	case u.Scheme == "http" && !loopback:
		return fmt.Errorf("the JWKS %s must be fetched by https: http is for loopback hosts only", u.Redacted())
	}
	return nil
}
