package sqlstore

import "ovation/storage"

// ActionRequest is the request of a message, if it has one. A store fills in Before, calls
// Begin and Finish, and writes New.
type ActionRequest struct {
	RequestLog

	message *storage.Message // nil if there is no request
	fresh   bool
}

// ActionRequestOf returns the request of the messages of one call of Persist.
func ActionRequestOf(messages []storage.Message) *ActionRequest {
	r := &ActionRequest{}
	if len(messages) == 1 && messages[0].Request != (storage.ActionRequest{}) {
		r.message = &messages[0]
		r.RequestLog = newRequestLog(map[RequestKey]bool{r.key(): true})
	}
	return r
}

func (r *ActionRequest) key() RequestKey {
	return requestKey(r.message.Request.User, r.message.Request.ID)
}

// Begin sets outcome.Changed to the result of an earlier call, and removes the message from
// the set fresh, which holds the ids of new messages, if there was one. It returns
// ErrRequestReuse if the id of the request was used for other actions.
func (r *ActionRequest) Begin(fresh map[string]bool, outcome *storage.Outcome) error {
	if r.message == nil {
		return nil
	}
	outcome.Changed = storage.UnknownChanges
	if before, known := r.Before[r.key()]; known {
		if before.Fingerprint != r.message.Request.Fingerprint {
			return ErrRequestReuse
		}
		outcome.Changed = before.ResultID
		delete(fresh, r.message.ID)
	}
	r.fresh = fresh[r.message.ID]
	return nil
}

// Finish sets outcome.Changed and adds the request to New, if its message is new.
func (r *ActionRequest) Finish(reads []storage.Action, outcome *storage.Outcome) {
	if !r.fresh {
		return
	}
	outcome.Changed = 0
	for i := range outcome.Applied {
		if c := &outcome.Applied[i]; c.OldReaction != c.Reaction || c.OldFolderID != c.FolderID || c.OldFollowing != c.Following {
			outcome.Changed++
		}
	}
	for i := range reads {
		outcome.Changed += reads[i].Times
	}
	r.record(r.key(), outcome.Changed, r.message.Request.Fingerprint)
}
