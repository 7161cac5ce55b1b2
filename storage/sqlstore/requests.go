package sqlstore

import (
	"cmp"
	"maps"
	"slices"

	"ovation/storage"
)

// ErrRequestReuse is the error for a request id that was used for another request.
var ErrRequestReuse = &storage.InvalidError{Field: "requestId", Reason: "was used for something else within a day"}

// RequestKey identifies a request.
type RequestKey struct {
	User      storage.User
	RequestID string
}

// Request is the record of a request.
type Request struct {
	Key         RequestKey
	ResultID    int64 // the id of the row that it added
	Fingerprint string
}

// RequestLog holds the requests of a batch. A store fills in Before and, after the batch
// has decided, writes New.
type RequestLog struct {
	Requests []RequestKey           // to be looked up, each once and sorted
	Before   map[RequestKey]Request // what was found
	New      []Request              // to be written, sorted by key
}

func newRequestLog(keys map[RequestKey]bool) RequestLog {
	delete(keys, RequestKey{}) // the key of everything without a request id
	return RequestLog{Requests: slices.SortedFunc(maps.Keys(keys), compareRequests), Before: map[RequestKey]Request{}}
}

// requestKey is the zero value if there is no request id.
func requestKey(user storage.User, requestID string) RequestKey {
	if requestID == "" {
		return RequestKey{}
	}
	return RequestKey{user, requestID}
}

// record remembers the result of a request, if it is one.
func (l *RequestLog) record(key RequestKey, resultID int64, fingerprint string) {
	if key == (RequestKey{}) {
		return
	}
	noted := Request{key, resultID, fingerprint}
	l.Before[key] = noted
	l.New = append(l.New, noted)
}

func (l *RequestLog) sort() {
	slices.SortFunc(l.New, func(x, y Request) int { return compareRequests(x.Key, y.Key) })
}

func compareRequests(a, b RequestKey) int {
	return cmp.Or(CompareUsers(a.User, b.User), cmp.Compare(a.RequestID, b.RequestID))
}
