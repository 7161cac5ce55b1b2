package resolvers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"

	"ovation/api/rate"
	"ovation/graph"
	"ovation/internal/testing/prices"
	"ovation/resolvers/limits"
)

// TestPricesAreThoseOfTheDocuments compares the prices of operations with those that the
// operator's guide states.
func TestPricesAreThoseOfTheDocuments(t *testing.T) {
	documented, err := prices.Documented("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(documented) != len(prices.Operations) {
		t.Errorf("%d operations have a price in the documents, want %d", len(documented), len(prices.Operations))
	}
	for _, of := range prices.Operations {
		got, want, most := rate.PerRequest+priceOf(t, of.Query, of.Variables(0)), documented[of.Name], 0
		if strings.Contains(of.Query, "__schema") {
			most = want / 10 // it grows with the schema
		}
		if got < want-most || got > want+most {
			t.Errorf("%s costs %d units, want %d as documented", of.Name, got, want)
		}
	}
}

// TestTheTableOfPricesHasTheirValues compares the rows of the operator's guide with the
// prices.
func TestTheTableOfPricesHasTheirValues(t *testing.T) {
	guide, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	thousands := func(n int) string {
		if n < 1000 {
			return fmt.Sprint(n)
		}
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	for _, row := range []string{
		fmt.Sprintf("| every request, every operation on a WebSocket, every handshake | %d |", rate.PerRequest),
		fmt.Sprintf("| each page of a list | %d more |", rate.PerList),
		fmt.Sprintf(
			"| each root field of a mutation | %d more; `read` %d, `deleteRead` %s, `clearReads` %s; `recordActions` %d more for each action |",
			rate.PerAction, rate.PerRead, thousands(deleteReadPrice), thousands(clearPrice), rate.PerBatchedAction,
		),
		fmt.Sprintf("| each password to hash | %s more;", thousands(rate.PerHash)),
		fmt.Sprintf("| a file below `/media/` | %d more, and 1 for each %d KiB of it", rate.PerDownload, rate.DownloadBytesPerUnit>>10),
		fmt.Sprintf("| an upload | %d more, and 1 for each %d bytes of it", rate.PerUpload, rate.UploadBytesPerUnit),
	} {
		if !strings.Contains(string(guide), "\n"+row) {
			t.Errorf("docs/operations.md has no row %q", row)
		}
	}
}

// priceOf returns the price of an operation without that of its request.
func priceOf(t *testing.T, query string, variables map[string]any) int {
	t.Helper()
	schema := graph.NewExecutableSchema(graph.Config{})
	engine := executor.New(schema)
	installed := limits.Install(engine, limits.Config{Introspection: true, Table: planTable(fieldTable, schema.Schema()), Fast: graph.PlainSchema})
	raw, err := json.Marshal(variables)
	if err != nil {
		t.Fatal(err)
	}
	params := &graphql.RawParams{Query: query}
	if err := json.NewDecoder(strings.NewReader(string(raw))).Decode(&params.Variables); err != nil {
		t.Fatal(err)
	}
	operation, errs := engine.CreateOperationContext(graphql.StartOperationTrace(context.Background()), params)
	if len(errs) > 0 {
		t.Fatalf("%s: got %v, want no errors", query, errs)
	}
	price, refused := installed.Price(operation)
	if refused != nil {
		t.Fatalf("%s: got %v, want a price", query, refused)
	}
	return price
}

// TestEachMutationHasAPrice checks that no action costs as little as a field.
func TestEachMutationHasAPrice(t *testing.T) {
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	table := planTable(fieldTable, schema)
	for _, mutation := range schema.Mutation.Fields {
		if price := table["Mutation."+mutation.Name].Price; price < rate.PerRead {
			t.Errorf("%s costs %d units, want at least %d", mutation.Name, price, rate.PerRead)
		}
	}
	for _, field := range []string{"Mutation.deleteRead", "Mutation.clearReads"} {
		if price := table[field].Price; price < 4*rate.PerAction {
			t.Errorf("%s costs %d units, want at least %d", field, price, 4*rate.PerAction)
		}
	}
	for _, list := range []string{"Interactive.likers", "Interactive.comments", "User.likes", "Query.feed", "Conversation.messages"} {
		if price := table[list].Price; price < rate.PerList {
			t.Errorf("%s costs %d units, want at least %d", list, price, rate.PerList)
		}
	}
}
