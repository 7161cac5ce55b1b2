package rate

import "context"

// Key is under which the context of a request holds its *Payer.
type Key struct{}

// From returns who pays for a request, nil where nobody does.
func From(ctx context.Context) *Payer {
	p, _ := ctx.Value(Key{}).(*Payer)
	return p
}
