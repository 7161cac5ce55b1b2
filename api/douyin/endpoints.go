package douyin

import (
	"context"
	"net/http"

	"ovation/api/rate"
)

// The prices of requests, in addition to rate.PerRequest. They are about the same as the
// prices of the corresponding GraphQL operations.
const (
	costAction   = rate.PerAction
	costLookUp   = 50
	costList     = 300 // of up to 100 entries
	costLogIn    = rate.PerHash
	costRegister = rate.PerHash + rate.PerAction
)

// endpoint is one endpoint of the API.
type endpoint struct {
	method string
	cost   int
	zero   func() reply // an empty reply
	serve  func(ctx context.Context, f *api, c *call) (reply, error)
}

// on returns an endpoint whose replies are filled in by the given function.
func on[T any, P interface {
	*T
	reply
}](method string, cost int, fill func(f *api, ctx context.Context, c *call, out P) error) *endpoint {
	return &endpoint{
		method: method, cost: cost,
		zero: func() reply { return P(new(T)) },
		serve: func(ctx context.Context, f *api, c *call) (reply, error) {
			out := P(new(T))
			return out, fill(f, ctx, c, out)
		},
	}
}

// endpoints holds the endpoints by their path below Path, without a trailing slash.
var endpoints = map[string]*endpoint{
	"feed":                   on(http.MethodGet, costList, (*api).feed),
	"user/register":          on(http.MethodPost, costRegister, (*api).register),
	"user/login":             on(http.MethodPost, costLogIn, (*api).logIn),
	"user":                   on(http.MethodGet, costLookUp, (*api).user),
	"publish/action":         on(http.MethodPost, rate.PerUpload, (*api).publish),
	"publish/list":           on(http.MethodGet, costList, (*api).published),
	"favorite/action":        on(http.MethodPost, costAction, (*api).favorite),
	"favorite/list":          on(http.MethodGet, costList, (*api).favorites),
	"comment/action":         on(http.MethodPost, costAction, (*api).comment),
	"comment/list":           on(http.MethodGet, costList, (*api).comments),
	"relation/action":        on(http.MethodPost, costAction, (*api).relation),
	"relation/follow/list":   on(http.MethodGet, costList, (*api).following),
	"relation/follower/list": on(http.MethodGet, costList, (*api).followers),
	"relation/friend/list":   on(http.MethodGet, costList, (*api).friends),
	"message/chat":           on(http.MethodGet, costList, (*api).chat),
	"message/action":         on(http.MethodPost, costAction, (*api).send),
}
