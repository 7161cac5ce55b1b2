package resolvers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
)

// stream is one subscription.
type stream struct {
	ctx       context.Context
	end       context.CancelFunc
	responses graphql.ResponseHandler
}

// subscribe starts a subscription as a user of the default tenant.
func (s *service) subscribe(t *testing.T, user, query string, variables map[string]any) *stream {
	t.Helper()
	return s.subscribeFrom(t, netip.Addr{}, user, query, variables)
}

// subscribeFrom is like subscribe, for a client at an address.
func (s *service) subscribeFrom(t *testing.T, address netip.Addr, userID, query string, variables map[string]any) *stream {
	t.Helper()
	user := storage.User{Tenant: storage.DefaultTenant, UserID: userID}
	payer := (*rate.Limiter)(nil).Payer(user, rate.Client{Address: address}, rate.Bucket{})
	ctx, end := context.WithTimeout(context.WithValue(viewer.NewContext(context.Background(), user), rate.Key{}, &payer), 2*time.Minute)
	t.Cleanup(end)
	out := &stream{end: end}
	out.responses, out.ctx = s.dispatch(t, ctx, query, variables)
	return out
}

// next waits for the next response and returns it, or nil once the stream has ended.
func (s *stream) next() *graphql.Response { return s.responses(s.ctx) }

// data waits for the next event of interactiveChanged.
func (s *stream) data(t *testing.T) any {
	t.Helper()
	return s.event(t, "interactiveChanged")
}

// event waits for the next event and returns one of its root fields.
func (s *stream) event(t *testing.T, field string) any {
	t.Helper()
	got := s.next()
	if got == nil || len(got.Errors) > 0 {
		t.Fatalf("got %+v, want an event without errors", got)
	}
	var data map[string]any
	must.Succeed(t, json.Unmarshal(got.Data, &data))
	return data[field]
}

const watchOne = `subscription { interactiveChanged(subjects: [{biz: "video", bizId: "1"}]) { bizId likeCount freshness liked { reaction } } }`

func TestSubscriptionStartsWithTheSnapshotAndReportsChanges(t *testing.T) {
	s := start(t)
	s.ok(t, "alice", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	alice, bob, nobody := s.subscribe(t, "alice", watchOne, nil), s.subscribe(t, "bob", watchOne, nil), s.subscribe(t, "", watchOne, nil)
	const anyone = `{"bizId":"1","likeCount":%d,"freshness":"LIVE","liked":%s}`
	same(t, alice.data(t), fmt.Sprintf(anyone, 1, `{"reaction":"LIKE"}`))
	same(t, bob.data(t), fmt.Sprintf(anyone, 1, "null"))
	same(t, nobody.data(t), fmt.Sprintf(anyone, 1, "null"))
	s.ok(t, "bob", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	same(t, alice.data(t), fmt.Sprintf(anyone, 2, `{"reaction":"LIKE"}`))
	same(t, bob.data(t), fmt.Sprintf(anyone, 2, `{"reaction":"LIKE"}`))
	same(t, nobody.data(t), fmt.Sprintf(anyone, 2, "null"))
	alice.end()
	if got := alice.next(); got != nil {
		t.Errorf("after the end of the stream: got %+v, want nothing", got)
	}
}

// watchMany watches the subjects in $s, and selects all fields that a page shows.
const watchMany = `subscription($s: [SubjectInput!]!) { interactiveChanged(subjects: $s) {
	bizId readCount liked { reaction } collected { folder { name itemCount } } read { times } version } }`

func videos(n int) map[string]any {
	subjects := make([]any, n)
	for i := range subjects {
		subjects[i] = map[string]any{"biz": "video", "bizId": strconv.Itoa(i)}
	}
	return map[string]any{"s": subjects}
}

// reads returns two actions by alice for each of n videos: a read and a collection.
func reads(n int) []storage.Action {
	var actions []storage.Action
	for i := range n {
		subject := storage.Subject{Biz: "video", BizID: strconv.Itoa(i)}
		actions = append(actions,
			storage.Action{User: storage.User{UserID: "alice"}, Subject: subject, Kind: storage.KindRead},
			storage.Action{User: storage.User{UserID: "alice"}, Subject: subject, Kind: storage.KindCollection, FolderID: storage.DefaultFolderID})
	}
	return actions
}

func TestSubscriptionReadsSimultaneousChangesByOneCall(t *testing.T) {
	s := start(t)
	alice := s.subscribe(t, "alice", watchMany, videos(100))
	for range 100 {
		alice.data(t)
	}
	s.calls.taken(t)
	begun := time.Now()
	s.act(t, begun, reads(100)...)
	for i := range 100 {
		got := alice.data(t)
		if dig(t, got, "readCount") != 1.0 || dig(t, got, "collected", "folder", "itemCount") != 100.0 || dig(t, got, "read", "times") != 1.0 {
			t.Fatalf("event %d: got %v, want one read, collected in a folder of 100", i, got)
		}
	}
	calls := s.calls.taken(t)
	// One call of each kind suffices. There are more if a busy machine is slow to send
	// events: the subjects that have not been sent are re-read whenever they were read
	// more than 100 ms ago.
	most := 5 + int(time.Since(begun)/(100*time.Millisecond))
	if n := calls["Interactives"]; n < 1 || n > most || calls["FoldersOf"] > n || len(calls) != 2 {
		t.Errorf("100 simultaneous changes: got the calls %v, want 1 to %d of Interactives and as many of FoldersOf", calls, most)
	}
}

func TestSubscriptionOfAnonymousViewersReadsNothingAndIsEncodedOnce(t *testing.T) {
	s := start(t)
	const varied = `subscription($s: [SubjectInput!]!, $x: Boolean!) { interactiveChanged(subjects: $s) { bizId @include(if: $x) version } }`
	variables, without := videos(3), videos(3)
	variables["x"], without["x"] = true, false
	streams := []*stream{
		s.subscribe(t, "", watchMany, videos(3)), s.subscribe(t, "", watchMany, videos(3)),
		s.subscribe(t, "", strings.Replace(watchMany, "readCount", "n: readCount", 1), videos(3)),
		s.subscribe(t, "", varied, variables), s.subscribe(t, "", varied, without),
	}
	for _, one := range streams {
		for range 3 {
			one.data(t)
		}
	}
	s.calls.taken(t)
	s.act(t, time.Now(), reads(3)...)
	var texts [5][3][]byte
	for i, one := range streams {
		for n := range 3 {
			texts[i][n] = one.next().Data
		}
	}
	if calls := s.calls.taken(t); len(calls) != 0 {
		t.Errorf("events of anonymous viewers: got the calls %v, want none", calls)
	}
	for n := range 3 {
		if &texts[0][n][0] != &texts[1][n][0] {
			t.Errorf("event %d: got two encodings, want one for both viewers", n)
		}
	}
	same(t, parsed(t, texts[0][1]), `{"interactiveChanged":{"bizId":"1","readCount":1,"liked":null,"collected":null,"read":null,"version":1}}`)
	same(t, parsed(t, texts[2][1]), `{"interactiveChanged":{"bizId":"1","n":1,"liked":null,"collected":null,"read":null,"version":1}}`)
	same(t, parsed(t, texts[3][2]), `{"interactiveChanged":{"bizId":"2","version":1}}`)
	same(t, parsed(t, texts[4][2]), `{"interactiveChanged":{"version":1}}`)
}

func parsed(t *testing.T, text []byte) (data any) {
	t.Helper()
	must.Succeed(t, json.Unmarshal(text, &data))
	return data
}

func TestSubscriptionReportsErrorsOfFieldsAndContinues(t *testing.T) {
	s := start(t)
	nobody := s.subscribe(t, "", `subscription { interactiveChanged(subjects: [{biz: "video", bizId: "1"}]) { likers { edges { cursor } } } }`, nil)
	for range 2 {
		if got := nobody.next(); got == nil || len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "UNAUTHENTICATED" {
			t.Fatalf("got %+v, want UNAUTHENTICATED alone", got)
		}
		s.act(t, time.Now(), reads(2)...)
	}
}

// refusing is a store whose reads for a viewer can be made to fail.
type refusing struct {
	storage.Store

	refuse  atomic.Bool
	refused chan struct{}
}

func (r *refusing) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	if r.refuse.Load() {
		select {
		case r.refused <- struct{}{}:
		default:
		}
		return nil, storage.ErrUnavailable
	}
	return r.Store.Interactives(ctx, viewer, subjects, kinds)
}

func TestSubscriptionReportsUnreadSubjectsAfterAnOutage(t *testing.T) {
	r := &refusing{refused: make(chan struct{}, 1)}
	s := start(t, behind(r, &r.Store))
	alice := s.subscribe(t, "alice", watchMany, videos(1))
	alice.data(t)
	r.refuse.Store(true)
	s.act(t, time.Now(), reads(1)...)
	told := make(chan *graphql.Response, 1)
	go func() { told <- alice.next() }()
	<-r.refused
	select {
	case got := <-told:
		t.Fatalf("got the event %+v of a subject that could not be read, want none", got)
	default:
	}
	r.refuse.Store(false)
	if got := <-told; got == nil || dig(t, parsed(t, got.Data), "interactiveChanged", "read", "times") != 1.0 {
		t.Errorf("after the failure: got the event %+v, want one read", got)
	}
}

func TestSubscriptionThatEndsLeavesNothing(t *testing.T) {
	s := start(t)
	for i := range 100 {
		one := s.subscribe(t, []string{"alice", ""}[i%2], watchMany, videos(3))
		if i%3 > 0 {
			one.data(t)
		}
		if i%3 > 1 {
			go one.next()
		}
		one.end()
	}
	await.That(t, "no subscription is left", func() bool {
		return s.metric(t, "ovation_live_watchers") == 0 && s.metric(t, "ovation_live_subjects") == 0
	})
}

// metric returns the value of a gauge, or of a counter with one label.
func (s *service) metric(t *testing.T, name string, label ...string) float64 {
	t.Helper()
	families, err := s.registry.Gather()
	must.Succeed(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && (len(label) == 0 || metric.GetLabel()[0].GetValue() == label[0]) {
				return metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no metric %s %v", name, label)
	return 0
}

func TestSubscriptionRejectsInvalidSubjects(t *testing.T) {
	s := start(t)
	const query = `subscription($s: [SubjectInput!]!) { interactiveChanged(subjects: $s) { likeCount } }`
	subject := func(id any) any { return map[string]any{"biz": "video", "bizId": fmt.Sprint(id)} }
	many := make([]any, 101)
	for i := range many {
		many[i] = subject(i)
	}
	for name, test := range map[string]struct {
		subjects []any
		want     string
	}{
		"none":               {[]any{}, "subjects must hold 1 to 100 entries; it holds 0"},
		"101":                {many, "subjects must hold 1 to 100 entries; it holds 101"},
		"a repeated subject": {[]any{subject(1), subject(2), subject(1)}, "subjects[2] is the same as subjects[0]; name each once"},
		"an invalid biz":     {[]any{subject(1), map[string]any{"biz": "V", "bizId": "1"}}, "subjects[1].biz must be 1 to 32 characters of a-z, 0-9, _ and -, starting with a letter"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.subscribe(t, "alice", query, map[string]any{"s": test.subjects})
			first := got.next()
			if first == nil || len(first.Errors) != 1 || first.Errors[0].Message != test.want ||
				first.Errors[0].Extensions["code"] != "BAD_USER_INPUT" || len(first.Data) > 0 {
				t.Errorf("got %+v, want BAD_USER_INPUT alone: %s", first, test.want)
			}
			if got.next() != nil {
				t.Error("after an invalid subscription: got another event, want the stream to end")
			}
		})
	}
}

// TestSubscriptionsKeepFewDocuments starts many different subscriptions, each with a document
// of the maximum length. No owner gets more than its share, no address more than that of an
// address, and all anonymous users together leave room for others.
func TestSubscriptionsKeepFewDocuments(t *testing.T) {
	const size, room = 65_000, 8 << 20
	s := start(t)
	n := 0
	ask := func(address byte, user string, document int) *stream {
		text := fmt.Sprintf(`subscription { interactiveChanged(subjects: [{biz: "video", bizId: "1"}]) { likeCount } } # %d `, document)
		return s.subscribeFrom(t, netip.AddrFrom4([4]byte{198, 51, 100, address}), user, text+strings.Repeat("x", size-len(text)), nil)
	}
	// fill starts subscriptions until one is refused. It returns how many were not, and the
	// code and message of the refusal.
	fill := func(address byte, user string) (open []*stream, refused string) {
		t.Helper()
		for len(open) < 200 {
			n++
			one := ask(address, user, n)
			if got := one.next(); len(got.Errors) > 0 {
				return open, fmt.Sprint(got.Errors[0].Extensions["code"], " ", got.Errors[0].Message)
			}
			open = append(open, one)
		}
		t.Fatalf("%q at address %d: 200 subscriptions were accepted", user, address)
		return nil, ""
	}
	const share, ofAddress = room * 5 / 100 / size, room * 25 / 100 / size
	open, refused := fill(1, "")
	if len(open) != share || !strings.HasPrefix(refused, "LIMIT_EXCEEDED the subscriptions of anonymous visitors from your address may hold 419431 bytes") || !strings.Contains(refused, "pass subjects as variables") {
		t.Errorf("the anonymous users at one address: got %d documents, then %s, want %d, then LIMIT_EXCEEDED", len(open), refused, share)
	}
	s.subscribeFrom(t, netip.AddrFrom4([4]byte{198, 51, 100, 1}), "", watchOne, nil).data(t) // a short document
	ask(1, "", 1).data(t)                                                                    // a document in use
	ask(2, "bob", 1).data(t)                                                                 // counts for bob, too
	if more, refused := fill(2, "bob"); len(more) != share-1 || !strings.HasPrefix(refused, "LIMIT_EXCEEDED your subscriptions may hold") {
		t.Errorf("a user with a document of others: got %d more, then %s, want %d, then LIMIT_EXCEEDED", len(more), refused, share-1)
	}
	open[1].end()
	await.That(t, "subscriptions are accepted again", func() bool { n++; return len(ask(1, "", n).next().Errors) == 0 })

	all := share // of address 2
	for account := range 10 {
		var more []*stream
		more, refused = fill(2, fmt.Sprint("account-", account))
		all += len(more)
	}
	if all != ofAddress || !strings.HasPrefix(refused, "LIMIT_EXCEEDED all subscriptions from your address may hold") {
		t.Errorf("the users at one address: got %d documents, then %s, want %d, then LIMIT_EXCEEDED", all, refused, ofAddress)
	}
	for address := byte(3); address < 100 && !strings.HasPrefix(refused, "UNAVAILABLE"); address++ {
		_, refused = fill(address, "")
	}
	if !strings.HasPrefix(refused, "UNAVAILABLE this server cannot keep more different documents at the moment: pass subjects as variables") {
		t.Errorf("anonymous users at 97 addresses: got %s, want UNAVAILABLE", refused)
	}
	ask(100, "alice", -1).data(t) // the rest is for signed-in users
}

// TestEventsKeepNoDocument watches one subject for a long time. Another subscription to
// the same subject, with another document, ends. That document must not stay in memory.
func TestEventsKeepNoDocument(t *testing.T) {
	s := start(t)
	s.subscribe(t, "", watchOne, nil).data(t)
	var operation weak.Pointer[ast.OperationDefinition]
	func() {
		one := s.subscribe(t, "", strings.Replace(watchOne, "likeCount", "n: likeCount", 1), nil)
		one.data(t)
		operation = weak.Make(graphql.GetOperationContext(one.ctx).Operation)
		one.end()
	}()
	for i := range 2000 { // not executed, only to evict the document from the cache
		text := fmt.Sprintf(`query Q%d { __typename }`, i)
		if _, errs := s.engine.CreateOperationContext(graphql.StartOperationTrace(t.Context()), &graphql.RawParams{Query: text}); errs != nil {
			t.Fatal(errs)
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); operation.Value() != nil; runtime.GC() { // the first subscription still runs
		if time.Now().After(deadline) {
			t.Fatal("the document of an ended subscription is still in memory after two minutes")
		}
	}
}
