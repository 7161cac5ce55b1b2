package viewer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"ovation/internal/testing/must"
	"ovation/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secret = []byte("a secret that is long enough: 0123456789")

// keys are slow to make, so the tests share them.
var keys = sync.OnceValue(func() (k struct {
	rsa, otherRSA *rsa.PrivateKey
	ec            *ecdsa.PrivateKey
},
) {
	k.rsa, _ = rsa.GenerateKey(rand.Reader, 2048)
	k.otherRSA, _ = rsa.GenerateKey(rand.Reader, 2048)
	k.ec, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return k
})

func newAuthenticator(t *testing.T, cfg Config) *Authenticator {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	a, err := New(t.Context(), cfg)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// claims returns valid claims with the given changes. A nil value deletes a claim.
func claims(changes map[string]any) jwt.MapClaims {
	all := jwt.MapClaims{"sub": "alice", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

func sign(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims, header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	maps.Copy(token.Header, header)
	text, err := token.SignedString(key)
	must.Succeed(t, err)
	return text
}

func request(header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/graphql", http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func TestTheViewerOfAContext(t *testing.T) {
	if got := FromContext(t.Context()); got != (storage.User{Tenant: storage.DefaultTenant}) {
		t.Errorf("without a viewer: got %v, want the anonymous user of the default tenant", got)
	}
	alice := storage.User{Tenant: "acme", UserID: "alice"}
	if got := FromContext(NewContext(t.Context(), alice)); got != alice {
		t.Errorf("with a viewer: got %v, want %v", got, alice)
	}
}

func TestASignedTokenIsItsUser(t *testing.T) {
	a := newAuthenticator(t, Config{Secret: secret, Issuer: "https://login.example", Audience: "ovation"})
	alice := storage.User{Tenant: "acme", UserID: "alice ✓"}
	token, err := Sign(secret, alice, time.Hour, Issuer("https://login.example"), Audience("ovation"))
	must.Succeed(t, err)
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
		if is, err := a.Authenticate(request("Authorization", scheme+token)); err != nil || is.User != alice || time.Until(is.Until) < time.Hour {
			t.Errorf("%q: got %v, %v, want %v for an hour", scheme, is, err, alice)
		}
	}
	is, err := a.Token(t.Context(), token)
	if left := time.Until(is.Until) - leeway; err != nil || is.User != alice || left > time.Hour || left < time.Hour-time.Minute {
		t.Errorf("got %v, %v, want %v for an hour and the leeway", is, err, alice)
	}
}

func TestInvalidIdentitiesAreNotSigned(t *testing.T) {
	alice := storage.User{Tenant: "acme", UserID: "alice"}
	for name, attempt := range map[string]struct {
		secret []byte
		user   storage.User
		ttl    time.Duration
	}{
		"a short secret": {secret[:31], alice, time.Hour},
		"nobody":         {secret, storage.User{Tenant: "acme"}, time.Hour},
		"a bad user":     {secret, storage.User{Tenant: "acme", UserID: "a\nb"}, time.Hour},
		"a bad tenant":   {secret, storage.User{Tenant: "ACME", UserID: "alice"}, time.Hour},
		"a zero TTL":     {secret, alice, 0},
	} {
		if token, err := Sign(attempt.secret, attempt.user, attempt.ttl); err == nil {
			t.Errorf("%s: got the token %s, want an error", name, token)
		}
	}
}

func TestATokenWithoutTenantIsOfTheDefaultOne(t *testing.T) {
	a := newAuthenticator(t, Config{Secret: secret})
	is, err := a.Token(t.Context(), sign(t, jwt.SigningMethodHS256, secret, claims(nil), nil))
	if got := is.User; err != nil || got != (storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}) {
		t.Errorf("got %v, %v, want alice of the default tenant", got, err)
	}
}

func TestInvalidTokenIsRejected(t *testing.T) {
	a := newAuthenticator(t, Config{Secret: secret, Issuer: "me", Audience: "you"})
	hour := time.Hour
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	good := map[string]any{"iss": "me", "aud": []string{"them", "you"}}
	with := func(changes map[string]any) string {
		all := maps.Clone(good)
		maps.Copy(all, changes)
		return sign(t, jwt.SigningMethodHS256, secret, claims(all), nil)
	}
	whole := with(nil)
	if _, err := a.Token(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(whole, ".")
	tests := map[string]struct{ token, want string }{
		"expired":              {with(map[string]any{"exp": at(-hour)}), "expired at "},
		"no exp":               {with(map[string]any{"exp": nil}), `no "exp"`},
		"exp is text":          {with(map[string]any{"exp": "tomorrow"}), "wrong type"},
		"exp is null":          {strings.Join([]string{parts[0], b64([]byte(`{"exp":null}`)), parts[2]}, "."), "signature"},
		"not yet":              {with(map[string]any{"nbf": at(hour)}), `"nbf" on at 2`},
		"issued in the future": {with(map[string]any{"iat": at(hour)}), `"iat" lies in the future`},
		"other issuer":         {with(map[string]any{"iss": "someone"}), `"iss"`},
		"no issuer":            {with(map[string]any{"iss": nil}), `no "iss"`},
		"other audience":       {with(map[string]any{"aud": "someone"}), `"aud"`},
		"no audience":          {with(map[string]any{"aud": nil}), `no "aud"`},
		"no sub":               {with(map[string]any{"sub": nil}), `no "sub"`},
		"empty sub":            {with(map[string]any{"sub": ""}), `no "sub"`},
		"sub is a number":      {with(map[string]any{"sub": 7}), `"sub" is not a string`},
		"sub is too long":      {with(map[string]any{"sub": strings.Repeat("a", 129)}), "129 bytes"},
		"sub is unprintable":   {with(map[string]any{"sub": "a\x00"}), "U+0000"},
		"Sub is not sub":       {with(map[string]any{"sub": nil, "Sub": "alice"}), `no "sub"`},
		"tenant is a list":     {with(map[string]any{"tenant": []string{"acme"}}), `"tenant" is not a string`},
		"tenant is null":       {strings.Join([]string{parts[0], b64([]byte(`{"tenant":null}`)), parts[2]}, "."), "signature"},
		"tenant is empty":      {with(map[string]any{"tenant": ""}), "tenant must be"},
		"tenant is upper case": {with(map[string]any{"tenant": "ACME"}), "tenant must be"},
		"too long":             {with(map[string]any{"x": strings.Repeat("a", MaxTokenBytes)}), "at most 8192"},
		"other secret": {
			sign(t, jwt.SigningMethodHS256, []byte("another secret, also long enough 01234"), claims(good), nil), "signature does not match",
		},
		"alg none": {
			sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(good), nil), `algorithm is "none"; accepted here: HS256`,
		},
		"alg none without signature": {
			b64([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", `algorithm is "none"`,
		},
		"alg of another size": {sign(t, jwt.SigningMethodHS512, secret, claims(good), nil), `algorithm is "HS512"`},
		"alg unknown":         {b64([]byte(`{"alg":"`+strings.Repeat("x", 99)+`"}`)) + "." + parts[1] + ".", `algorithm is "xxxxxxxxxxxxxxxxxxxx";`},
		"no alg":              {b64([]byte(`{}`)) + "." + parts[1] + "." + parts[2], `algorithm is ""`},
		"crit":                {sign(t, jwt.SigningMethodHS256, secret, claims(good), map[string]any{"crit": []string{"x"}}), `"crit"`},
		"changed claims":      {parts[0] + "." + b64([]byte(`{"sub":"bob"}`)) + "." + parts[2], "signature does not match"},
		"cut off":             {whole[:len(whole)-3], "signature does not match"},
		"two parts":           {parts[0] + "." + parts[1], "not a JSON Web Token"},
		"words":               {"let me in", "not a JSON Web Token"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			is, err := a.Authenticate(request("Authorization", "Bearer "+test.token))
			user := is.User
			if err == nil {
				t.Fatalf("got the viewer %v, want an error", user)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q, want one that contains %q", err, test.want)
			}
			if user != (storage.User{}) {
				t.Errorf("got the viewer %v beside an error, want none", user)
			}
			for _, private := range []string{string(secret), parts[2]} {
				if strings.Contains(err.Error(), private) {
					t.Errorf("error %q, want it not to contain %q", err, private)
				}
			}
		})
	}
}

func TestClocksMayBeALittleApart(t *testing.T) {
	a := newAuthenticator(t, Config{Secret: secret})
	soon, before := time.Now().Add(5*time.Second).Unix(), time.Now().Add(-5*time.Second).Unix()
	for name, changes := range map[string]map[string]any{
		"expired just now":    {"exp": before},
		"valid in a moment":   {"nbf": soon},
		"issued in a moment":  {"iat": soon},
		"expires in an age":   {"exp": 253402300799},
		"valid for a century": {"nbf": 0, "iat": 0},
	} {
		if _, err := a.Token(t.Context(), sign(t, jwt.SigningMethodHS256, secret, claims(changes), nil)); err != nil {
			t.Errorf("%s: got %v, want the token accepted", name, err)
		}
	}
}

func TestTheAuthorizationHeader(t *testing.T) {
	a := newAuthenticator(t, Config{Secret: secret})
	anonymous := storage.User{Tenant: storage.DefaultTenant}
	if got, err := a.Authenticate(request()); err != nil || got.User != anonymous {
		t.Errorf("no header: got %v, %v, want %v", got, err, anonymous)
	}
	for name, r := range map[string]*http.Request{
		"empty":        request("Authorization", ""),
		"no token":     request("Authorization", "Bearer "),
		"other scheme": request("Authorization", "Basic YTpi"),
		"no scheme":    request("Authorization", sign(t, jwt.SigningMethodHS256, secret, claims(nil), nil)),
		"two headers":  request("Authorization", "Bearer a", "Authorization", "Bearer b"),
	} {
		if got, err := a.Authenticate(r); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
}

func TestWithoutAKeyEveryTokenIsRefused(t *testing.T) {
	a := newAuthenticator(t, Config{})
	token := sign(t, jwt.SigningMethodHS256, secret, claims(nil), nil)
	if _, err := a.Authenticate(request("Authorization", "Bearer "+token)); err == nil || !strings.Contains(err.Error(), "neither a secret nor a JWKS") {
		t.Errorf("got %v, want an error: neither a secret nor a JWKS", err)
	}
	if got, err := a.Authenticate(request()); err != nil || !got.User.Anonymous() {
		t.Errorf("without a token: got %v, %v, want the anonymous user", got, err)
	}
}

func TestHeadersAreAcceptedInDevelopmentOnly(t *testing.T) {
	token, err := Sign(secret, storage.User{Tenant: "acme", UserID: "alice"}, time.Hour)
	must.Succeed(t, err)
	tests := map[string]struct {
		dev    DevHeaders
		host   string
		header []string
		want   storage.User
		fails  string // part of the reason; empty if the request is accepted
	}{
		"ignored":                                {IgnoreDevHeaders, "localhost", []string{"X-Ovation-User", "bob", "X-Ovation-Tenant", "acme"}, storage.User{Tenant: "default"}, ""},
		"user":                                   {LocalDevHeaders, "localhost:8080", []string{"X-Ovation-User", "bob"}, storage.User{Tenant: "default", UserID: "bob"}, ""},
		"user and tenant":                        {LocalDevHeaders, "127.0.0.1:8080", []string{"X-Ovation-User", "bob", "X-Ovation-Tenant", "acme"}, storage.User{Tenant: "acme", UserID: "bob"}, ""},
		"tenant":                                 {LocalDevHeaders, "[::1]:8080", []string{"X-Ovation-Tenant", "acme"}, storage.User{Tenant: "acme"}, ""},
		"empty":                                  {LocalDevHeaders, "[::1]", []string{"X-Ovation-User", "", "X-Ovation-Tenant", ""}, storage.User{Tenant: "default"}, ""},
		"another host":                           {LocalDevHeaders, "evil.example:8080", []string{"X-Ovation-User", "bob"}, storage.User{}, "accepted only from this machine"},
		"a host that begins with localhost":      {LocalDevHeaders, "localhost.evil.example", []string{"X-Ovation-User", "bob"}, storage.User{}, "accepted only from this machine"},
		"no headers, another host":               {LocalDevHeaders, "evil.example", nil, storage.User{Tenant: "default"}, ""},
		"refused":                                {RefuseDevHeaders, "localhost", []string{"X-Ovation-User", "bob"}, storage.User{}, "--dev-headers"},
		"no headers, refused":                    {RefuseDevHeaders, "localhost", nil, storage.User{Tenant: "default"}, ""},
		"accepted from any host":                 {TrustDevHeaders, "app.example", []string{"X-Ovation-User", "bob"}, storage.User{Tenant: "default", UserID: "bob"}, ""},
		"the token overrides the headers":        {TrustDevHeaders, "localhost", []string{"X-Ovation-User", "bob", "Authorization", "Bearer " + token}, storage.User{Tenant: "acme", UserID: "alice"}, ""},
		"an invalid token overrides the headers": {TrustDevHeaders, "localhost", []string{"X-Ovation-User", "bob", "Authorization", "Bearer x"}, storage.User{}, "not a JSON Web Token"},
		"invalid user":                           {TrustDevHeaders, "localhost", []string{"X-Ovation-User", "a\xff"}, storage.User{}, "UTF-8"},
		"invalid tenant":                         {TrustDevHeaders, "localhost", []string{"X-Ovation-Tenant", "A"}, storage.User{}, "tenant"},
		"two users":                              {TrustDevHeaders, "localhost", []string{"X-Ovation-User", "bob", "X-Ovation-User", "eve"}, storage.User{}, "more than one"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAuthenticator(t, Config{Secret: secret, DevHeaders: test.dev})
			r := request(test.header...)
			r.Host = test.host
			is, err := a.Authenticate(r)
			if got := is.User; got != test.want || (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("got %v, %v, want %v, error %q", is.User, err, test.want, test.fails)
			}
		})
	}
}

// TestAProxyTurnsDevHeadersOff sends requests as a reverse proxy does. The proxy runs on
// the same machine and rewrites Host.
func TestAProxyTurnsDevHeadersOff(t *testing.T) {
	for _, mode := range []DevHeaders{LocalDevHeaders, TrustDevHeaders} {
		a := newAuthenticator(t, Config{Secret: secret, DevHeaders: mode})
		ask := func(header ...string) (Identity, error) {
			r := request(append(header, "X-Ovation-User", "bob")...)
			r.Host = "127.0.0.1:8080"
			return a.Authenticate(r)
		}
		for _, name := range []string{
			"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "x-forwarded-anything", "Forwarded", "Via", "X-Real-IP",
			"X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "X-Original-Forwarded-For", "X-Original-Host",
		} {
			for _, value := range []string{"127.0.0.1", ""} {
				if is, err := ask(name, value); err == nil || !strings.Contains(err.Error(), "not accepted through a proxy") {
					t.Errorf("mode %d, %s %q: got %v, %v, want \"not accepted through a proxy\"", mode, name, value, is.User, err)
				}
			}
		}
		if is, err := ask("X-Request-Id", "1", "Origin", "http://127.0.0.1:8080"); err != nil || is.User.UserID != "bob" {
			t.Errorf("mode %d, no proxy: got %v, %v, want bob", mode, is.User, err)
		}
		old := request("X-Ovation-User", "bob")
		old.Host, old.Proto, old.ProtoMinor = "localhost", "HTTP/1.0", 0
		if is, err := a.Authenticate(old); err == nil {
			t.Errorf("mode %d, a proxy that speaks HTTP/1.0: got %v, want an error", mode, is.User)
		}
		token, err := Sign(secret, storage.User{Tenant: "acme", UserID: "alice"}, time.Hour)
		must.Succeed(t, err)
		if is, err := ask("X-Forwarded-For", "192.0.2.1", "Authorization", "Bearer "+token); err != nil || is.User.UserID != "alice" {
			t.Errorf("mode %d, a token through a proxy: got %v, %v, want alice", mode, is.User, err)
		}
	}
}

func TestInvalidConfigIsRejected(t *testing.T) {
	silent, _, _ := endpoint(t, nil)
	detour := httptest.NewServer(http.RedirectHandler("http://jwks.example/", http.StatusFound))
	t.Cleanup(detour.Close)
	small, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	must.Succeed(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx  context.Context
		cfg  Config
		want string
	}{
		"short secret":        {t.Context(), Config{Secret: secret[:31]}, "31 bytes long; at least 32"},
		"no audience":         {t.Context(), Config{Secret: secret, JWKS: jwksFile(t, jwks(jwk("1", &keys().rsa.PublicKey, nil)))}, "needs an audience"},
		"no file":             {t.Context(), Config{Audience: AnyAudience, JWKS: filepath.Join(t.TempDir(), "none.json")}, "none.json"},
		"no JSON":             {t.Context(), Config{Audience: AnyAudience, JWKS: jwksFile(t, []byte("-----BEGIN PUBLIC KEY-----"))}, "not a JSON Web Key Set"},
		"no usable key":       {t.Context(), Config{Audience: AnyAudience, JWKS: jwksFile(t, jwks(jwk("1", &small.PublicKey, map[string]any{"crv": "P-384"})))}, "no public key for RS256"},
		"too long":            {t.Context(), Config{Audience: AnyAudience, JWKS: jwksFile(t, make([]byte, jwksMaxBytes+1))}, "longer than"},
		"failing endpoint":    {t.Context(), Config{Audience: AnyAudience, JWKS: silent.URL}, "502"},
		"plain http":          {t.Context(), Config{Audience: AnyAudience, JWKS: "http://user:pass@jwks.example/"}, "must be fetched by https"},
		"detour":              {t.Context(), Config{Audience: AnyAudience, JWKS: detour.URL}, "must be fetched by https"},
		"other scheme":        {t.Context(), Config{Audience: AnyAudience, JWKS: "ftp://jwks.example/"}, "must be a file or an https URL"},
		"a cancelled context": {gone, Config{Audience: AnyAudience, JWKS: silent.URL}, "canceled"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := New(test.ctx, test.cfg)
			if err == nil {
				_ = a.Close()
				t.Fatalf("got no error, want one that contains %q", test.want)
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "pass@") {
				t.Errorf("error %q, want one that contains %q", err, test.want)
			}
		})
	}
}

func TestCloseMayBeCalledTwice(t *testing.T) {
	a := newAuthenticator(t, Config{Audience: AnyAudience, JWKS: jwksFile(t, jwks(jwk("1", &keys().rsa.PublicKey, nil)))})
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkToken(b *testing.B) {
	a, err := New(b.Context(), Config{Secret: secret})
	must.Succeed(b, err)
	defer func() { _ = a.Close() }()
	token, err := Sign(secret, storage.User{Tenant: "acme", UserID: "alice"}, time.Hour)
	must.Succeed(b, err)
	for b.Loop() {
		if _, err := a.Token(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
