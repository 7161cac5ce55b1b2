package storage

import (
	"errors"
	"fmt"
	"strconv"
)

// MaxActionBatch is the maximum number of actions in an ActionBatch.
const MaxActionBatch = 1000

// ActionBatch is a request of a back end to record actions of many users, once.
type ActionBatch struct {
	By        User   // the back end, which is not anonymous
	RequestID string // 1 to MaxRequestIDBytes printable characters of ASCII
	// Actions are 1 to MaxActionBatch actions of By's tenant, with the times at which they
	// were made as their versions. None of them is a declaration.
	Actions []Action
}

// ActionRequest identifies a request of a back end. A store keeps it for RequestAge.
type ActionRequest struct {
	User        User
	ID          string
	Fingerprint string // differs for requests with other actions
}

// Validate returns an *InvalidError if no store could record the request.
func (r ActionRequest) Validate() error {
	if r.ID == "" {
		return &InvalidError{Field: "requestId", Reason: "must not be empty"}
	}
	if r.User.Anonymous() {
		return &InvalidError{Field: "userId", Reason: "must not be empty: requests are of signed-in users"}
	}
	return ValidateRequestID(r.ID)
}

// Message returns the batch as a message. The same batch has the same message, so that an
// inbox takes it once. If an action repeats the state and the time of an earlier one in the
// list, the version in the message is increased, so that the later one wins. Errors:
// *InvalidError, whose field names the action, such as actions[3].biz.
func (b ActionBatch) Message() (Message, error) {
	request := ActionRequest{User: b.By, ID: b.RequestID}
	if err := request.Validate(); err != nil {
		return Message{}, err
	}
	if n := len(b.Actions); n == 0 || n > MaxActionBatch {
		return Message{}, &InvalidError{Field: "actions", Reason: fmt.Sprintf("holds %d entries; 1 to %d are allowed", n, MaxActionBatch)}
	}
	type moment struct {
		StateKey
		kind    Kind
		version int64
	}
	actions, repeats := make([]Action, len(b.Actions)), make(map[moment]int64, len(b.Actions))
	text := make([]byte, 0, 100*len(b.Actions))
	for i := range b.Actions {
		a := b.Actions[i]
		text = appendAction(text, &a)
		if !a.Kind.AddsUp() {
			at := moment{StateKey{a.User, a.Subject}, a.Kind, a.Version}
			a.Version += repeats[at]
			repeats[at]++
		}
		if err := b.check(&a); err != nil {
			if invalid, ok := errors.AsType[*InvalidError](err); ok {
				err = &InvalidError{Field: fmt.Sprintf("actions[%d].%s", i, invalid.Field), Reason: invalid.Reason}
			}
			return Message{}, err
		}
		actions[i] = a
	}
	request.Fingerprint = digest(text)
	id := "actions-" + fingerprint(b.By.Tenant, b.By.UserID, b.RequestID, request.Fingerprint)
	return Message{ID: id, Actions: actions, Request: request}, nil
}

func (b ActionBatch) check(a *Action) error {
	switch {
	case a.Kind == KindAuthor:
		return &InvalidError{Field: "kind", Reason: "must not be a declaration"}
	case a.User.Tenant != b.By.Tenant:
		return &InvalidError{Field: "tenant", Reason: "must be that of the request"}
	}
	return a.Validate()
}

// appendAction appends everything that distinguishes an action from others.
func appendAction(text []byte, a *Action) []byte {
	for _, part := range [...]string{a.User.UserID, a.Subject.Biz, a.Subject.BizID, a.FolderID} {
		text = appendPart(text, part)
	}
	text = append(text, byte(a.Kind), byte(a.Reaction), byte(a.If))
	text = strconv.AppendBool(text, a.Following)
	for _, n := range [...]int64{a.Times, a.First, a.Version} {
		text = strconv.AppendInt(append(text, ','), n, 10)
	}
	return text
}
