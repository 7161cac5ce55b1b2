package resolvers

import (
	"context"

	"ovation/api/codes"
	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/storage"
)

var errTrendsDisabled = &problem{
	codes.NotFound,
	"this site has no trends: --trending (OVATION_TRENDING) turns them on",
}

// trends identifies a list of trends.
type trends struct {
	tenant, biz string
	window      storage.TrendWindow
}

var trendLists = listSpec[trends, storage.TrendingQuery, storage.Trend]{
	lookup: loaders.Trending,
	name: func(of *trends, _ string) []string {
		return []string{"trending", of.tenant, of.biz, string('0' + rune(of.window))}
	},
	query: func(_ storage.User, of *trends, _ string, page storage.Page) storage.TrendingQuery {
		return storage.TrendingQuery{Tenant: of.tenant, Biz: of.biz, Window: of.window, Page: page}
	},
	place: func(t *storage.Trend) storage.Position {
		return storage.Position{Version: t.Score, ID: t.Subject.BizID}
	},
	node: func(a *prefetch, field *plan.Field, t *storage.Trend) {
		a.visitSubject(field, t.Subject)
	},
}

func (r queryResolver) Trending(ctx context.Context, biz string, window *storage.TrendWindow, first *int, after *string) (*graph.TrendingConnection, error) {
	if !r.trends {
		return nil, errTrendsDisabled
	}
	of := &trends{viewer.FromContext(ctx).Tenant, biz, storage.TrendDay}
	if window != nil {
		of.window = *window
	}
	type edge struct {
		Cursor string        `json:"cursor"`
		Node   storage.Trend `json:"node"`
	}
	edges, info, err := connect[edge](ctx, r.Root, &trendLists, of, pageArgs{&biz, first, after})
	if err != nil {
		return nil, err
	}
	out, subjects := make([]*graph.TrendingEdge, len(edges)), make([]storage.Subject, len(edges))
	for i, e := range edges {
		subjects[i] = e.Node.Subject
		out[i] = &graph.TrendingEdge{Cursor: e.Cursor, Score: e.Node.Score}
	}
	if selectsNodes(ctx, "TrendingConnection", "TrendingEdge") {
		found, err := loaders.Interactives.LoadMany(ctx, subjects)
		if err != nil {
			return nil, err
		}
		for i, one := range found {
			out[i].Node = *one
		}
	}
	return &graph.TrendingConnection{Edges: out, PageInfo: info}, nil
}

var trendWindows = map[string]storage.TrendWindow{"HOUR": storage.TrendHour, "DAY": storage.TrendDay, "WEEK": storage.TrendWeek}

func (p *prefetch) trending(field *plan.Field, _ any) {
	part := p.pageArgs(field)
	window, _ := field.ArgumentMap(p.op.Variables)["window"].(string)
	of := trends{tenant: p.me.Tenant, window: storage.TrendDay}
	if known, is := trendWindows[window]; is {
		of.window = known
	}
	if p.trends && part.biz != nil {
		of.biz = *part.biz
		trendLists.field().prefetch(p, field, &of)
	}
}
