package limits

import (
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
)

func checkLength(text string) *gqlerror.Error {
	if n := len(text); n > MaxQueryBytes {
		return exceeded("the query is %d bytes long; at most %d are allowed", n, MaxQueryBytes)
	}
	return nil
}

// parse parses a text of at most MaxQueryBytes. It returns limit if the document exceeds
// a limit, and otherwise syntax if the text is no GraphQL.
func (l *Limits) parse(text string) (document *ast.QueryDocument, limit *gqlerror.Error, syntax error) {
	if limit = checkTokens(text); limit != nil {
		return nil, limit, nil
	}
	if document, syntax = parser.ParseQuery(&ast.Source{Input: text}); syntax != nil {
		return nil, nil, syntax
	}
	return document, l.checkShape(document), nil
}

// Compile parses and validates a document as it would be for a request, within the same
// limits. It returns the first error. The document can be passed to Pin.
func (l *Limits) Compile(text string) (*ast.QueryDocument, error) {
	if document := l.cache.peek(text); document != nil {
		return document, nil
	}
	if err := checkLength(text); err != nil {
		return nil, err
	}
	document, limit, err := l.parse(text)
	switch {
	case limit != nil:
		return nil, limit
	case err != nil:
		return nil, err
	case len(document.Operations) == 0:
		return nil, badInput("the document has no operation")
	}
	if errs := validator.ValidateWithRules(l.schema, document, l.validationRules()); len(errs) > 0 {
		return nil, errs[0]
	}
	return document, nil
}

// Pin keeps compiled documents, by text, and the plans of their operations in memory,
// beside the documents that the cache may evict, until Pin is called again. A document
// that was pinned before and is not any more remains usable by the operations that have
// it.
func (l *Limits) Pin(documents map[string]*ast.QueryDocument) {
	l.cache.pin(documents)
	for text := range documents {
		document := l.cache.peek(text)
		for _, operation := range document.Operations {
			l.Plan(&graphql.OperationContext{Doc: document, Operation: operation})
		}
	}
}
