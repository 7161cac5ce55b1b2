package accounts

import (
	"net/netip"
	"slices"
	"time"

	"ovation/api/rate"
)

// Limits on login attempts. The limit per name and address stops guesses from one address
// without locking out the user at other addresses. The limit per name bounds the guesses
// from all addresses. The wider networks of an IPv6 address have limits of their own; see
// rate.Networks. Successful logins are limited per name and address, because each costs
// as much as a failed one.
const (
	pairBurst, pairEvery   = 10, time.Minute
	nameBurst, nameEvery   = 100, 10 * time.Second
	loginBurst, loginEvery = 30, 10 * time.Second
	addressEvery           = 10 * time.Second
)

// attempts limits the attempts to log in and to register.
type attempts struct {
	byName, byPair, byAddress *rate.Attempts // failed logins; byAddress also registrations
	logins                    *rate.Attempts // successful logins by pair
	// known holds the pairs of a name and an address from which the user has logged in.
	// Guesses from elsewhere do not lock them out.
	known *rate.Recent
}

func newAttempts(perAddress int) *attempts {
	return &attempts{
		byName: rate.NewAttempts(nameBurst, nameEvery), byPair: rate.NewAttempts(pairBurst, pairEvery),
		byAddress: rate.NewAttempts(perAddress, addressEvery), logins: rate.NewAttempts(loginBurst, loginEvery),
		known: rate.NewRecent(),
	}
}

// attempt is an attempt counted against a limit.
type attempt struct {
	limit   *rate.Attempts
	network rate.Network
	key     string
}

// taken is a list of counted attempts.
type taken []attempt

// take counts an attempt. If there have been too many, it returns the time until the next
// is allowed.
func (t *taken) take(limit *rate.Attempts, network rate.Network, key string) (wait time.Duration) {
	if wait = limit.TakeIn(network, key); wait == 0 {
		*t = append(*t, attempt{limit, network, key})
	}
	return wait
}

// giveBack undoes the attempts counted against the given limits, or all if none is given.
func (t *taken) giveBack(only ...*rate.Attempts) {
	for _, one := range *t {
		if len(only) == 0 || slices.Contains(only, one.limit) {
			one.limit.ReturnIn(one.network, one.key)
		}
	}
}

// everywhere stands for all networks.
var everywhere = rate.Network{Share: 1}

// login is an attempt to log in to an account, or to confirm its password.
type login struct {
	limits *attempts
	name   string // with the tenant
	at     rate.Network
	known  bool // the user has logged in at this address before
	taken  taken
}

// logIn counts an attempt to log in to the account with the given name, which includes
// the tenant. The attempt counts as failed and as successful until its result is reported
// by a method of the returned login. Errors: *LimitedError.
func (a *attempts) logIn(name string, from netip.Addr) (*login, error) {
	networks, n := rate.Networks(from)
	l := &login{limits: a, name: name, at: networks[0]}
	if l.known = from.IsValid() && a.known.Has(l.at, name); l.known {
		n = 1 // the wider networks also count the attempts of others
	}
	var wait time.Duration
	count := func(limit *rate.Attempts, network rate.Network, key string) {
		if wait == 0 {
			wait = l.taken.take(limit, network, key)
		}
	}
	for _, network := range networks[:n] {
		if !l.known { // otherwise guesses of other names would lock out the user
			count(a.byAddress, network, "")
		}
		count(a.byPair, network, name)
		count(a.logins, network, name)
	}
	if !l.known {
		count(a.byName, everywhere, name)
	}
	return l.admitted(wait)
}

// changePassword counts an attempt to change the password of a user who is logged in.
// Others cannot make such attempts, so that the limits are those of the user alone.
// Errors: *LimitedError.
func (a *attempts) changePassword(user, name string, from netip.Addr) (*login, error) {
	networks, _ := rate.Networks(from)
	l := &login{limits: a, name: name, at: networks[0]}
	wait := l.taken.take(a.byPair, everywhere, user)
	if wait == 0 {
		wait = l.taken.take(a.logins, everywhere, user)
	}
	return l.admitted(wait)
}

// admitted returns the login, or an error if the next attempt has to wait.
func (l *login) admitted(wait time.Duration) (*login, error) {
	if wait > 0 {
		l.taken.giveBack()
		return nil, &LimitedError{wait}
	}
	return l, nil
}

// failed reports that the password was wrong, or that there is no such account.
func (l *login) failed() { l.taken.giveBack(l.limits.logins) }

// succeeded reports that the password was right.
func (l *login) succeeded() {
	l.taken.giveBack(l.limits.byAddress, l.limits.byPair, l.limits.byName)
	l.limits.known.Add(l.at, l.name)
}

// cancelled reports that the password could not be checked.
func (l *login) cancelled() { l.taken.giveBack() }

// register counts a registration. Errors: *LimitedError.
func (a *attempts) register(from netip.Addr) error {
	var t taken
	networks, n := rate.Networks(from)
	for _, network := range networks[:n] {
		if wait := t.take(a.byAddress, network, ""); wait > 0 {
			t.giveBack()
			return &LimitedError{wait}
		}
	}
	return nil
}

// remember records that a user has proven at an address to be the owner of a name.
func (a *attempts) remember(name string, from netip.Addr) {
	networks, _ := rate.Networks(from)
	a.known.Add(networks[0], name)
}
