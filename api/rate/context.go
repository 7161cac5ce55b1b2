package rate

import "context"

// Key is the key of the *Payer in the context of a request.
type Key struct{}

// FromContext returns the Payer of a request, or nil if there is none.
func FromContext(ctx context.Context) *Payer {
	p, _ := ctx.Value(Key{}).(*Payer)
	return p
}
