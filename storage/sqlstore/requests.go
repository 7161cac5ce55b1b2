package sqlstore

import (
	"cmp"
	"maps"
	"slices"

	"ovation/storage"
)

// ErrRequestReuse is the error for a request id that was used for a different request.
var ErrRequestReuse = &storage.InvalidError{Field: "requestId", Reason: "was used for something else within a day"}

// RequestKey identifies a request.
type RequestKey struct {
	User      storage.User
	RequestID string
}

// Request is the record of a request.
type Request struct {
	Key         RequestKey
	ResultID    int64 // the id of the row that the request added
	Fingerprint string
}

// RequestLog holds the requests of a batch or publication. A store fills in Before, calls
// Decide or Publish, and writes New.
type RequestLog struct {
	Requests []RequestKey           // to be looked up, sorted and without duplicates
	Before   map[RequestKey]Request // the requests that were found
	New      []Request              // to be written, sorted by key
}

func newRequestLog(keys map[RequestKey]bool) RequestLog {
	delete(keys, RequestKey{}) // the key of operations without a request id
	return RequestLog{Requests: slices.SortedFunc(maps.Keys(keys), compareRequests), Before: map[RequestKey]Request{}}
}

// requestKey returns the key of a request, or the zero value if there is no request id.
func requestKey(user storage.User, requestID string) RequestKey {
	if requestID == "" {
		return RequestKey{}
	}
	return RequestKey{user, requestID}
}

// record adds the result of a request to the log, unless the key is the zero value.
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
