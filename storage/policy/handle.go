package policy

import (
	"context"
	"sync/atomic"
)

// Handle holds the policy in use, which may be replaced at any time. A nil *Handle is that
// of a site without a file. A Handle is safe for concurrent use.
type Handle struct{ current atomic.Pointer[Policy] }

// NewHandle returns a Handle that holds the given policy.
func NewHandle(p *Policy) *Handle {
	h := new(Handle)
	h.Set(p)
	return h
}

// Set replaces the policy.
func (h *Handle) Set(p *Policy) { h.current.Store(p) }

// Get returns the policy in use.
func (h *Handle) Get() *Policy {
	if h == nil {
		return nil
	}
	return h.current.Load()
}

// Events reports whether changes of a kind of content of a tenant are logged as events.
func (h *Handle) Events(tenant, biz string) bool { return h.Get().Of(tenant, biz).Events }

// Trending returns the settings of trends of a kind of content of a tenant.
func (h *Handle) Trending(tenant, biz string) *Trending { return &h.Get().Of(tenant, biz).Trending }

type pinKey struct{}

// Pin returns a context in which In returns the policy that is in use now, also if it is
// replaced meanwhile. An operation that pins the policy when it begins therefore sees the
// old policy or the new one, never both.
func (h *Handle) Pin(ctx context.Context) context.Context {
	if h == nil {
		return ctx
	}
	return context.WithValue(ctx, pinKey{}, h.Get())
}

// In returns the policy that was pinned in a context or, if none was, the one in use.
func (h *Handle) In(ctx context.Context) *Policy {
	if h == nil {
		return nil
	}
	if p, is := ctx.Value(pinKey{}).(*Policy); is {
		return p
	}
	return h.Get()
}
