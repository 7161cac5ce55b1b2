package media

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"ovation/storage"
)

const (
	// partBytes is how much of an upload to S3 is buffered in memory. S3 takes at most
	// 10,000 parts, so that a blob has at most 78 GiB.
	partBytes = 8 << 20
	// s3Attempts is how often a request is sent at most. Repetitions are safe, since each
	// request names its blob or its part.
	s3Attempts = 3
	// s3ListPage is how many blobs a request for a list returns at most.
	s3ListPage = 1000
)

// s3Bucket keeps blobs in a bucket of S3, or of a service with the same API.
type s3Bucket struct {
	client    minio.Core
	transport *http.Transport
	name      string
	prefix    string // of the keys in the bucket
}

// openS3 returns the bucket at a URL, s3://NAME, whose query may have
//   - region: where the bucket is; otherwise the service is asked,
//   - endpoint: the URL of another service than that of AWS,
//   - use_path_style=true: the bucket is named in the path, not in the host,
//   - prefix: that of all keys, to use a part of the bucket.
//
// Credentials are those of the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), of
// the files of the AWS command line, or of the machine, container or service account.
// Errors: storage.ErrInvalid.
func openS3(u *url.URL) (*s3Bucket, error) {
	invalid := func(reason string) error { return &storage.InvalidError{Field: "blob URL", Reason: reason} }
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, invalid("has a query that cannot be parsed: " + err.Error())
	}
	for name := range query {
		if !slices.Contains([]string{"region", "endpoint", "use_path_style", "prefix"}, name) {
			return nil, invalid(fmt.Sprintf("has the parameter %q; use region, endpoint, use_path_style and prefix", name))
		}
	}
	endpoint := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	if at := query.Get("endpoint"); at != "" {
		endpoint, err = url.Parse(at)
		if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Path != "" && endpoint.Path != "/" {
			return nil, invalid(fmt.Sprintf("has the endpoint %q; use a URL such as https://minio:9000", at))
		}
	}
	lookup := minio.BucketLookupAuto
	if style := query.Get("use_path_style"); style != "" {
		is, err := strconv.ParseBool(style)
		if err != nil {
			return nil, invalid(fmt.Sprintf("has use_path_style=%q; use true or false", style))
		}
		if lookup = minio.BucketLookupDNS; is {
			lookup = minio.BucketLookupPath
		}
	}
	secure := endpoint.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, invalid(err.Error())
	}
	client, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Transport: transport}},
		}),
		Secure: secure, Region: query.Get("region"), BucketLookup: lookup, Transport: transport, MaxRetries: s3Attempts,
	})
	if err != nil {
		return nil, invalid(err.Error())
	}
	return &s3Bucket{*client, transport, u.Host, query.Get("prefix")}, nil
}

// s3At returns the part of S3 that a URL names, for error messages.
func s3At(u *url.URL) string {
	return u.Scheme + "://" + path.Join(u.Host, u.Query().Get("prefix"))
}

// s3Error marks errors about missing blobs.
func s3Error(err error) error {
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

func (b *s3Bucket) create(ctx context.Context, key, contentType string) (io.WriteCloser, error) {
	return &s3Writer{ctx: ctx, bucket: b, key: b.prefix + key, options: minio.PutObjectOptions{ContentType: contentType, DisableContentSha256: true}}, nil
}

// s3Writer collects a part of a blob, and sends it when it is full. A request is signed
// with the hash of its part, which the service verifies; DisableContentSha256 prevents a
// second signature of each chunk, which some services do not know.
type s3Writer struct {
	ctx     context.Context //nolint:containedctx // of one blob
	bucket  *s3Bucket
	key     string
	options minio.PutObjectOptions

	part   bytes.Buffer
	upload string // the id of an upload in several parts, or empty
	sent   []minio.CompletePart
	failed error
}

func (w *s3Writer) Write(p []byte) (n int, err error) {
	for n < len(p) && w.failed == nil {
		if w.part.Len() == partBytes { // more follows
			w.failed = w.send()
			continue
		}
		taken, _ := w.part.Write(p[n:min(len(p), n+partBytes-w.part.Len())]) // never fails
		n += taken
	}
	return n, w.failed
}

// send sends the collected part of an upload in several parts.
func (w *s3Writer) send() (err error) {
	if w.upload == "" {
		w.upload, err = w.bucket.client.NewMultipartUpload(w.ctx, w.bucket.name, w.key, w.options)
		if err != nil {
			return err
		}
	}
	sum := sha256.Sum256(w.part.Bytes())
	is, err := w.bucket.client.PutObjectPart(w.ctx, w.bucket.name, w.key, w.upload, len(w.sent)+1,
		bytes.NewReader(w.part.Bytes()), int64(w.part.Len()), minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(sum[:]), DisableContentSha256: true})
	if err != nil {
		return err
	}
	w.sent = append(w.sent, minio.CompletePart{PartNumber: is.PartNumber, ETag: is.ETag})
	w.part.Reset()
	return nil
}

// Close sends what is left. A blob of one part takes one request.
func (w *s3Writer) Close() error {
	if err := errors.Join(w.failed, w.ctx.Err()); err != nil {
		return errors.Join(err, w.abort())
	}
	if w.upload == "" {
		sum := sha256.Sum256(w.part.Bytes())
		_, err := w.bucket.client.PutObject(w.ctx, w.bucket.name, w.key,
			bytes.NewReader(w.part.Bytes()), int64(w.part.Len()), "", hex.EncodeToString(sum[:]), w.options)
		return err
	}
	err := w.send()
	if err == nil {
		_, err = w.bucket.client.CompleteMultipartUpload(w.ctx, w.bucket.name, w.key, w.upload, w.sent, minio.PutObjectOptions{})
	}
	if err != nil {
		return errors.Join(err, w.abort())
	}
	return nil
}

// abort deletes the parts that have been sent.
func (w *s3Writer) abort() error {
	if w.upload == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), storeTime)
	defer cancel()
	return w.bucket.client.AbortMultipartUpload(ctx, w.bucket.name, w.key, w.upload)
}

func (b *s3Bucket) open(ctx context.Context, key string, offset int64) (io.ReadCloser, error) {
	var options minio.GetObjectOptions
	if offset > 0 {
		if err := options.SetRange(offset, 0); err != nil {
			return nil, err
		}
	}
	r, _, _, err := b.client.GetObject(ctx, b.name, b.prefix+key, options)
	return r, s3Error(err)
}

func (b *s3Bucket) stat(ctx context.Context, key string) (blobInfo, error) {
	is, err := b.client.StatObject(ctx, b.name, b.prefix+key, minio.StatObjectOptions{})
	return blobInfo{key, is.Size, is.LastModified}, s3Error(err)
}

func (b *s3Bucket) remove(ctx context.Context, key string) error {
	return s3Error(b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{}))
}

// list asks for one page after the other. Each may take storeTime.
func (b *s3Bucket) list(ctx context.Context, folder string) iter.Seq2[blobInfo, error] {
	options := minio.ListObjectsOptions{Prefix: b.prefix, Recursive: true, MaxKeys: s3ListPage}
	if folder != "" {
		options.Prefix += folder + "/"
	}
	return func(yield func(blobInfo, error) bool) {
		for {
			page, err := b.page(ctx, options)
			for _, one := range page {
				options.StartAfter = one.Key
				if !yield(blobInfo{one.Key[len(b.prefix):], one.Size, one.LastModified}, nil) {
					return
				}
			}
			if err != nil {
				yield(blobInfo{}, err)
			}
			if err != nil || len(page) < s3ListPage {
				return
			}
		}
	}
}

func (b *s3Bucket) page(ctx context.Context, options minio.ListObjectsOptions) (page []minio.ObjectInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	for one := range b.client.ListObjectsIter(ctx, b.name, options) {
		if one.Err != nil {
			return page, one.Err
		}
		if page = append(page, one); len(page) == s3ListPage {
			return page, nil
		}
	}
	return page, ctx.Err() // if it has ended between two requests, the list is not complete
}

func (b *s3Bucket) close() { b.transport.CloseIdleConnections() }
