package transport

import (
	"context"
	"net/http"
	"time"

	"ovation/api/rate"
	"ovation/api/viewer"
)

// API is an API other than GraphQL. The Handler in front of it logs, measures and limits
// its requests as it does for GraphQL.
type API interface {
	// Authenticate returns the identity of a request, as viewer.Authenticator does.
	Authenticate(r *http.Request) (viewer.Identity, error)
	// WriteError answers a request with an error. The code is a constant of package
	// codes.
	WriteError(w http.ResponseWriter, r *http.Request, code, message string)
}

// SetOperation records the operation of an API request for the log and the metrics.
func SetOperation(ctx context.Context, operation, kind string) {
	rec := recordOf(ctx)
	rec.operation, rec.kind = operation, kind
}

// Identify sets the viewer of an API request whose credentials are not in the headers,
// and charges for the request. If the bucket holds too little, Identify returns the time
// until it holds enough.
func Identify(ctx context.Context, is viewer.Identity) (_ context.Context, wait time.Duration) {
	rec := recordOf(ctx)
	rec.Identity = is
	rec.payer = rec.Limiter.Payer(is.User, rec.client, rate.Bucket{})
	return is.NewContext(ctx), rec.payer.Take(rate.PerRequest)
}
