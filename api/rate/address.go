package rate

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// The headers in which proxies name their clients.
const (
	forwardedForHeader = "X-Forwarded-For"
	forwardedHeader    = "Forwarded" // RFC 7239
)

// ClientOf returns the origin of a request.
//
// Headers from untrusted proxies are ignored. In a header from a trusted proxy, ClientOf
// takes the last address that does not belong to a trusted proxy. Each proxy appends the
// address that sent it the request, so everything before that address may be forged. If
// X-Forwarded-For and Forwarded are both present and disagree, one of them may come from
// the client, and ClientOf takes the address of the proxy.
func (l *Limiter) ClientOf(r *http.Request) Client {
	if l == nil {
		return Client{}
	}
	var peer netip.Addr // all requests of unknown peers share the zero value
	if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		peer = at.Addr().Unmap().WithZone("")
	}
	chain, elements := r.Header[forwardedForHeader], r.Header[forwardedHeader]
	switch {
	case len(chain) == 0 && len(elements) == 0:
		return Client{Address: network(peer)}
	case !l.trusts(peer):
		return Client{Address: network(peer), Proxied: true}
	case len(elements) == 0:
		return Client{Address: network(l.lastUntrusted(peer, chain, parseHop))}
	}
	client := l.lastUntrusted(peer, elements, parseElement)
	if len(chain) > 0 && l.lastUntrusted(peer, chain, parseHop) != client {
		client = peer
	}
	return Client{Address: network(client)}
}

func (l *Limiter) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// lastUntrusted returns the last address in lists that does not belong to a trusted
// proxy. If all addresses belong to trusted proxies, it returns the first. The search
// proceeds from the end and stops at an invalid entry, because no trusted proxy wrote it.
// In this case lastUntrusted returns the address after that entry, or peer if there is
// none.
func (l *Limiter) lastUntrusted(peer netip.Addr, lists []string, parse func(string) (netip.Addr, bool)) netip.Addr {
	last := peer
	for _, list := range slices.Backward(lists) {
		for more := true; more; {
			var hop string
			at := strings.LastIndexByte(list, ',')
			if more = at >= 0; more {
				hop, list = list[at+1:], list[:at]
			} else {
				hop = list
			}
			address, ok := parse(strings.TrimSpace(hop))
			if !ok {
				return last
			}
			if last = address; !l.trusts(address) {
				return last
			}
		}
	}
	return last
}

// parseHop parses an address with or without a port, as proxies write it into
// X-Forwarded-For.
func parseHop(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		at, inner := netip.ParseAddrPort(text)
		if inner != nil {
			return netip.Addr{}, false
		}
		address = at.Addr()
	}
	return address.Unmap().WithZone(""), true
}

// parseElement parses the address in an element of a Forwarded header.
func parseElement(text string) (netip.Addr, bool) {
	for pair := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "for") {
			return parseHop(strings.Trim(value, `"`))
		}
	}
	return netip.Addr{}, false
}

// networkBits is the number of leading bits of an IPv6 address that identify a provider's
// customer.
const networkBits = 64

// network returns the address to which a client's limits apply: an IPv4 address itself,
// or the first address in the client's IPv6 network. All addresses in such a network
// belong to one customer.
func network(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return address
	}
	return netip.PrefixFrom(address, networkBits).Masked().Addr()
}

// Network is a set of addresses for which a limit counts together.
type Network struct {
	netip.Prefix

	// Share is the budget of the network, as a multiple of that of one address.
	Share int
}

// MaxNetworks is the maximum number of networks of an address.
const MaxNetworks = 3

// Networks returns the networks to which the limits of a Client's Address apply; all of
// them must admit a request. The first is the Address. Providers also assign IPv6
// networks of a /56 or a /48, whose owner has 256 or 65,536 times a /64; such networks
// have budgets of 2 and 4 addresses.
func Networks(address netip.Addr) (all [MaxNetworks]Network, n int) {
	if !address.Is6() {
		return [MaxNetworks]Network{{netip.PrefixFrom(address, address.BitLen()), 1}}, 1
	}
	for i, bits := range [MaxNetworks]int{networkBits, 56, 48} {
		all[i] = Network{netip.PrefixFrom(address, bits).Masked(), 1 << i}
	}
	return all, MaxNetworks
}
