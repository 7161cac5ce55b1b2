package resolvers

import (
	"context"
	"errors"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/storage"
)

func (r mutationResolver) SendMessage(ctx context.Context, in graph.SendMessageInput) (*graph.SendMessagePayload, error) {
	key, err := conversationWith(ctx, "input.to", in.To)
	if err != nil {
		return nil, err
	}
	message := storage.NewDirectMessage{From: key.Owner, To: key.With, Text: in.Text}
	if message.RequestID, err = requestID(in.RequestID); err != nil {
		return nil, err
	}
	if _, err := message.Check(); err != nil {
		return nil, atPath("input.", err)
	}
	if wait := r.limiter.TakeMessage(key.Owner); wait > 0 {
		return nil, rate.Error(wait)
	}
	sent, err := r.messages.Send(ctx, message)
	if err != nil {
		return nil, atPath("input.", err)
	}
	r.prepare(ctx, "message", sent)
	return &graph.SendMessagePayload{Message: *sent}, nil
}

func (r mutationResolver) MarkRead(ctx context.Context, in graph.MarkReadInput) (*graph.MarkReadPayload, error) {
	key, err := conversationWith(ctx, "input.with", in.With)
	if err != nil {
		return nil, err
	}
	upTo := int64(storage.MaxCommentID)
	if in.UpTo != nil {
		ref, err := storage.ParseNodeID(*in.UpTo)
		if err != nil || ref.Type != storage.NodeMessage || ref.Message.Conversation(key.Owner) != key {
			return nil, notFound("input.upTo")
		}
		upTo = ref.Message.Number
	}
	read, err := r.messages.MarkRead(ctx, key, upTo)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, notFound("a conversation with the user input.with")
	}
	if err != nil {
		return nil, err
	}
	r.prepare(ctx, "conversation", read)
	return &graph.MarkReadPayload{Conversation: *read}, nil
}

func (r queryResolver) Conversation(ctx context.Context, with string) (*storage.Conversation, error) {
	key, err := conversationWith(ctx, "with", with)
	if err != nil {
		return nil, err
	}
	return loaders.Conversations.Load(ctx, key)
}

func (r queryResolver) Conversations(ctx context.Context, first *int, after *string) (*graph.ConversationConnection, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return nil, err
	}
	edges, info, version, err := connectVersion[graph.ConversationEdge](ctx, r.Root, &conversationLists, &me, pageArgs{nil, first, after})
	if err != nil {
		return nil, err
	}
	cursor := r.cursors.encode(mailboxOf(me), storage.Position{Version: version})
	return &graph.ConversationConnection{Edges: edges, PageInfo: info, MessagesCursor: cursor}, nil
}

func (r conversationResolver) Messages(ctx context.Context, obj *storage.Conversation, first *int, after *string) (*graph.MessageConnection, error) {
	edges, info, err := connect[graph.MessageEdge](ctx, r.Root, &messageLists, obj, pageArgs{nil, first, after})
	return &graph.MessageConnection{Edges: edges, PageInfo: info}, err
}

func (r friendResolver) LatestMessage(ctx context.Context, obj *storage.Friend) (*storage.DirectMessage, error) {
	key, visible := conversationOfFriends(viewer.FromContext(ctx), obj)
	if !visible {
		return nil, nil //nolint:nilnil // null is the answer
	}
	found, err := loaders.Conversations.Load(ctx, key)
	if err != nil || found == nil {
		return nil, err
	}
	return &found.Latest, nil
}

// Messages streams the messages that the viewer sends and receives, until ctx ends.
func (r subscriptionResolver) Messages(ctx context.Context, after *string) (<-chan *storage.DirectMessage, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return nil, err
	}
	number, err := r.messagesBegin(ctx, me, after)
	if err != nil {
		return nil, err
	}
	stream := &changeStream[storage.DirectMessage]{
		name: mailboxOf(me), subject: me.Subject(), version: number,
		read: func(ctx context.Context, after int64, first int) ([]*storage.DirectMessage, error) {
			found, err := r.store.MessagesAfter(ctx, storage.MailboxQuery{User: me, After: after, First: first})
			out := make([]*storage.DirectMessage, len(found))
			for i, one := range found { // copies, so that one message does not keep the others in memory
				out[i] = &one
			}
			return out, err
		},
		at:   func(m *storage.DirectMessage) int64 { return m.Number },
		size: func(m *storage.DirectMessage) int { return len(m.Text) },
	}
	return stream.stream(ctx, r.messageHub)
}

// messagesBegin returns the number of the message after which a new stream delivers
// messages: the one that a message id or a cursor identifies or, if neither is given, the
// user's latest message.
func (r *Root) messagesBegin(ctx context.Context, me storage.User, after *string) (int64, error) {
	if after == nil {
		latest, err := r.store.LatestMessages(ctx, []storage.User{me})
		if err != nil {
			return 0, err
		}
		return latest[0], nil
	}
	if ref, err := storage.ParseNodeID(*after); err == nil && ref.Type == storage.NodeMessage && ref.Message.Between(me) {
		return ref.Message.Number, nil
	}
	at, err := r.cursors.decode(mailboxOf(me), *after)
	if err != nil {
		return 0, &storage.InvalidError{Field: "after", Reason: "is neither a messagesCursor nor the id of a message of yours"}
	}
	return at.Version, nil
}

func mailboxOf(u storage.User) string {
	return strings.Join([]string{"mailbox", u.Tenant, u.UserID}, "\x00")
}

// requestID returns the request id of an input, or "" if it is absent.
func requestID(given *string) (string, error) {
	switch {
	case given == nil:
		return "", nil
	case *given == "":
		return "", badInput("input.requestId must not be empty; leave it out")
	}
	return *given, nil
}

// prepare prefetches what the operation selects from an object in the payload. It first
// clears the loaders, so that the state after the mutation is loaded.
func (r mutationResolver) prepare(ctx context.Context, name string, object any) {
	loaders.FromContext(ctx).ClearAll()
	op := graphql.GetOperationContext(ctx)
	a := r.newPrefetch(ctx)
	for _, field := range r.limits.Plan(op).Roots(op).At(graphql.GetFieldContext(ctx)).Below().Named(name) {
		a.visit(field, object)
	}
	a.run()
}

// conversationLists is the list of the viewer's conversations.
var conversationLists = listSpec[storage.User, storage.ConversationsQuery, storage.Conversation]{
	lookup: loaders.ConversationLists,
	name:   func(of *storage.User, _ string) []string { return []string{"conversations", of.Tenant, of.UserID} },
	sees:   seesConversations,
	query: func(_ storage.User, of *storage.User, _ string, page storage.Page) storage.ConversationsQuery {
		return storage.ConversationsQuery{Owner: *of, Page: page}
	},
	place: (*storage.Conversation).Place,
}

var messageLists = listSpec[storage.Conversation, storage.DirectMessagesQuery, storage.DirectMessage]{
	lookup: loaders.MessageLists,
	name: func(of *storage.Conversation, _ string) []string {
		return []string{"messages", of.Owner.Tenant, of.Owner.UserID, of.With.UserID}
	},
	sees: seesMessages,
	query: func(_ storage.User, of *storage.Conversation, _ string, page storage.Page) storage.DirectMessagesQuery {
		return storage.DirectMessagesQuery{Conversation: of.Key(), Page: page}
	},
	place: (*storage.DirectMessage).Place,
}

func (p *prefetch) conversations(field *plan.Field, _ any) {
	conversationLists.field().prefetch(p, field, &p.me)
}
