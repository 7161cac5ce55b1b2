package rate

import "github.com/vektah/gqlparser/v2/gqlerror"

// Tab sums the bills of the operations of a batch, so that they are admitted or refused
// together.
type Tab struct {
	Bill

	// Text is the number of bytes of the documents that have to be parsed.
	Text int
	// Refused is the reason why the whole batch must be refused, or nil.
	Refused *gqlerror.Error
}

// Bill is what an operation costs. The fields other than Units are bounded by package
// limits.
type Bill struct {
	Units         int // the price
	Cost          int // the maximum number of fields of the response
	Introspection int // the same for introspection
	Actions       int // root fields of a mutation
}

// Plus returns the sum of two bills.
func (b Bill) Plus(more Bill) Bill {
	return Bill{b.Units + more.Units, b.Cost + more.Cost, b.Introspection + more.Introspection, b.Actions + more.Actions}
}

// On returns a Payer whose bills are put on a tab instead of being paid.
func (p *Payer) On(tab *Tab) Payer {
	out := *p
	out.tab = tab
	return out
}

// Tab returns the tab that the payer's bills are put on, or nil if they are paid at once.
func (p *Payer) Tab() *Tab {
	if p == nil {
		return nil
	}
	return p.tab
}
