package limits

import (
	"cmp"
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"ovation/api/codes"
	"ovation/api/rate"
	"ovation/internal/plain"
	"ovation/resolvers/plan"
)

// Limits on a document. They limit the time of parsing and validation to a few tens of
// milliseconds, and leave room for what clients write and generate: the introspection
// query of graphql-js has 230 fields on 15 levels.
const (
	MaxQueryBytes         = 64 << 10 // the text
	MaxTokens             = 10_000   // names, numbers, strings, punctuators, comments
	MaxNesting            = 40       // levels of brackets of all kinds
	MaxDefinitions        = 100      // operations and fragments
	MaxDepth              = 15       // levels of fields
	MaxIntrospectionDepth = 25       // levels of fields from __schema or __type downwards
	MaxFields             = 1_000    // fields and fragments, as written and with fragments expanded
	MaxAliases            = 100      // of one operation with fragments expanded
	MaxDirectives         = 10       // on one element
	maxNameBytes          = 256      // the name of the operation to execute
)

// Limits on the cost of an operation.
const (
	// DefaultMaxCost allows a page of 100 subjects with 20 likers each (about 8,000),
	// but not 100 folders with 100 items each (over 30,000).
	DefaultMaxCost = 20_000
	// maxSubscriptionCost is the maximum cost of a subscription, which may respond up to
	// 20 times a second. A subscription to 100 subjects, with the fields that a page
	// shows, costs about half of it.
	maxSubscriptionCost = 5_000
	// maxIntrospectionCost is the maximum cost of the fields below __schema and __type.
	// The usual introspection query costs less than half of it.
	maxIntrospectionCost = 180_000
)

// DefaultMaxMutationFields suffices for a client that sends the actions that its user
// performed while offline. It keeps a single request from performing very many actions.
const DefaultMaxMutationFields = 10

// Config configures the limits.
type Config struct {
	// Introspection allows clients to query the schema.
	Introspection bool
	// MaxCost is the maximum cost of an operation. If it is 0, DefaultMaxCost applies.
	MaxCost int
	// MaxMutationFields is the maximum number of root fields of a mutation with fragments
	// expanded. If it is 0, DefaultMaxMutationFields applies.
	MaxMutationFields int
	// Table and Fast are passed to plan.NewPlanner.
	Table plan.Table
	Fast  plain.Schema
}

// Limits is a gqlgen extension. Its cache holds valid documents. A cached document is not
// checked, parsed or validated again.
type Limits struct {
	cfg       Config
	schema    *ast.Schema
	planner   *plan.Planner
	uncoerced map[string]bool // types whose values need no coercion
	cache     *cache
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationParameterMutator
	graphql.OperationContextMutator
} = (*Limits)(nil)

// Server is a server that Install can limit: an *executor.Executor of gqlgen.
type Server interface {
	Use(extension graphql.HandlerExtension)
	SetQueryCache(cache graphql.Cache[*ast.QueryDocument])
	SetParserTokenLimit(limit int)
	SetDefaultRulesFn(rules func() *rules.Rules)
}

// Install adds the limits and the cache of documents to a server.
func Install(server Server, cfg Config) *Limits {
	cfg.MaxCost = cmp.Or(cfg.MaxCost, DefaultMaxCost)
	cfg.MaxMutationFields = cmp.Or(cfg.MaxMutationFields, DefaultMaxMutationFields)
	l := &Limits{cfg: cfg, cache: newCache(maxCacheEntries, maxCacheBytes)}
	server.Use(l)
	server.SetQueryCache(l.cache)
	server.SetParserTokenLimit(MaxTokens)
	server.SetDefaultRulesFn(l.validationRules)
	return l
}

// ExtensionName returns "Limits".
func (l *Limits) ExtensionName() string { return "Limits" }

// Validate stores the schema.
func (l *Limits) Validate(schema graphql.ExecutableSchema) error {
	l.schema = schema.Schema()
	l.planner, l.uncoerced = plan.NewPlanner(l.schema, l.cfg.Table, l.cfg.Fast), typesWithoutCoercion(l.schema)
	return nil
}

// MutateOperationParameters rejects documents and variables beyond the limits. It does
// not modify the parameters.
func (l *Limits) MutateOperationParameters(ctx context.Context, request *graphql.RawParams) *gqlerror.Error {
	if err := checkLength(request.Query); err != nil {
		return err
	}
	if n := len(request.OperationName); n > maxNameBytes {
		return exceeded("the operationName is %d bytes long; at most %d are allowed", n, maxNameBytes)
	}
	document, known := l.cache.Get(ctx, request.Query)
	if !known {
		var exceeded *gqlerror.Error
		var syntax error
		if document, exceeded, syntax = l.parse(request.Query); exceeded != nil || syntax != nil {
			return exceeded // the server parses the text next and reports the syntax error
		}
	}
	operation := document.Operations.ForName(request.OperationName)
	switch {
	case operation != nil:
	case len(document.Operations) == 0:
		return nil // the server reports it
	case request.OperationName == "":
		return badInput("the document has %d operations; name the one to execute by operationName", len(document.Operations))
	default:
		return badInput("the document has no operation %.40q", request.OperationName)
	}
	return l.checkVariables(operation, request.Variables)
}

// MutateOperationContext rejects operations beyond the limits, and charges the client for
// all others.
func (l *Limits) MutateOperationContext(ctx context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	bill, err := l.bill(operation)
	if err != nil {
		return err
	}
	return l.charge(ctx, bill)
}

// charge charges the client for an operation. An operation of a batch is put on the
// batch's tab, which refuses the batch if its operations exceed a limit together.
func (l *Limits) charge(ctx context.Context, bill rate.Bill) *gqlerror.Error {
	payer := rate.FromContext(ctx)
	tab := payer.Tab()
	if tab == nil {
		if wait := payer.Take(bill.Units); wait > 0 {
			return rate.Error(wait)
		}
		return nil
	}
	tab.Bill = tab.Plus(bill)
	switch {
	case tab.Cost > l.cfg.MaxCost:
		tab.Refused = exceeded("the operations of the batch cost %d or more together; at most %d are allowed. Send some of them in another request", tab.Cost, l.cfg.MaxCost)
	case tab.Introspection > maxIntrospectionCost:
		tab.Refused = exceeded("the introspection of the batch costs %d or more; at most %d are allowed", tab.Introspection, maxIntrospectionCost)
	case tab.Actions > l.cfg.MaxMutationFields:
		tab.Refused = exceeded("the mutations of the batch have %d root fields or more, their fragments filled in; at most %d are allowed. Send some of them in another request", tab.Actions, l.cfg.MaxMutationFields)
	}
	return tab.Refused
}

// chargeText charges the client for a document that has to be parsed and validated. The
// new documents of a batch may be as long as one document, together.
func chargeText(ctx context.Context, document string) *gqlerror.Error {
	payer := rate.FromContext(ctx)
	payer.Charge(len(document))
	tab := payer.Tab()
	if tab == nil {
		return nil
	}
	if tab.Text += len(document); tab.Text > MaxQueryBytes {
		tab.Refused = exceeded("the queries of the batch are %d bytes long or longer together; at most %d are allowed", tab.Text, MaxQueryBytes)
	}
	return tab.Refused
}

// Price returns the price of an operation, in units of package rate. It returns an error
// if the operation exceeds a limit or is invalid in a way that validation does not detect.
func (l *Limits) Price(operation *graphql.OperationContext) (price int, _ *gqlerror.Error) {
	bill, err := l.bill(operation)
	return bill.Units, err
}

// bill returns the bill for an operation, with its price. It returns errors as Price does.
func (l *Limits) bill(operation *graphql.OperationContext) (bill rate.Bill, _ *gqlerror.Error) {
	operation.DisableIntrospection = !l.cfg.Introspection
	planned, most, actions := l.Plan(operation), l.cfg.MaxCost, 0
	switch operation.Operation.Operation {
	case ast.Subscription:
		most = min(most, maxSubscriptionCost)
	case ast.Mutation:
		actions = planned.RootFields
	case ast.Query:
	}
	data, introspection, extra := planned.Cost(operation.Variables)
	_, conditions := planned.Conditions(operation.Variables)
	switch {
	case actions > l.cfg.MaxMutationFields:
		return bill, exceeded("the mutation has %d root fields, its fragments filled in; at most %d are allowed. Send the others in further requests", actions, l.cfg.MaxMutationFields)
	case !conditions:
		return bill, badInput("the condition of @skip and @include must be true or false, not null")
	case data > most:
		return bill, exceeded("the operation costs %d: its answer can hold that many fields; at most %d are allowed. Ask for shorter lists (first) or fewer fields", data, most)
	case introspection > maxIntrospectionCost:
		return bill, exceeded("the introspection costs %d: its answer can hold about that many fields; at most %d are allowed", introspection, maxIntrospectionCost)
	case operation.Operation.Operation == ast.Subscription && len(planned.Roots(operation).Fields) != 1:
		return bill, badInput("a subscription must select one field, not counting those that @skip or @include leave out; open one subscription for each")
	}
	return rate.Bill{
		Units: data/rate.FieldsPerUnit + introspection/rate.SchemaFieldsPerUnit + extra, Cost: data, Introspection: introspection, Actions: actions,
	}, nil
}

func exceeded(format string, args ...any) *gqlerror.Error {
	return codes.Errorf(codes.LimitExceeded, format, args...)
}

func badInput(format string, args ...any) *gqlerror.Error {
	return codes.Errorf(codes.BadUserInput, format, args...)
}
