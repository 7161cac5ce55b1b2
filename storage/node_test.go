package storage_test

import (
	"errors"
	"strings"
	"testing"

	"ovation/storage"
)

func TestNodeIDsRoundTrip(t *testing.T) {
	user := storage.User{Tenant: "acme", UserID: "josé:1"}
	subject := storage.Subject{Tenant: "acme", Biz: "video", BizID: "a/b:c"}
	tests := map[string]struct {
		node storage.Node
		want storage.NodeRef
	}{
		"subject":    {&storage.Interactive{Subject: subject}, storage.NodeRef{Type: storage.NodeInteractive, Subject: subject}},
		"user":       {user, storage.NodeRef{Type: storage.NodeUser, User: user}},
		"reaction":   {&storage.Liked{User: user, Subject: subject}, storage.NodeRef{Type: storage.NodeLiked, User: user, Subject: subject}},
		"collection": {&storage.Collected{User: user, Subject: subject, FolderID: "x"}, storage.NodeRef{Type: storage.NodeCollected, User: user, Subject: subject}},
		"read":       {&storage.Read{User: user, Subject: subject}, storage.NodeRef{Type: storage.NodeRead, User: user, Subject: subject}},
		"comment":    {&storage.Comment{Subject: subject, Number: 42}, storage.NodeRef{Type: storage.NodeComment, Comment: storage.CommentKey{Tenant: "acme", CommentID: 42}}},
		"follow":     {&storage.Followed{User: user, Subject: subject}, storage.NodeRef{Type: storage.NodeFollowed, User: user, Subject: subject}},
		"message": {
			&storage.DirectMessage{From: user, To: storage.User{Tenant: "acme", UserID: "b"}, Number: 42},
			storage.NodeRef{Type: storage.NodeMessage, Message: storage.DirectMessageKey{From: user, To: storage.User{Tenant: "acme", UserID: "b"}, Number: 42}},
		},
		"conversation": {
			&storage.Conversation{Owner: user, With: storage.User{Tenant: "acme", UserID: "b"}},
			storage.NodeRef{Type: storage.NodeConversation, Conversation: storage.ConversationKey{Owner: user, With: storage.User{Tenant: "acme", UserID: "b"}}},
		},
		"folder": {&storage.Folder{Owner: user, FolderID: storage.DefaultFolderID}, storage.NodeRef{Type: storage.NodeFolder, User: user, FolderID: storage.DefaultFolderID}},
	}
	seen := map[string]string{}
	for name, tt := range tests {
		id := tt.node.ID()
		if got, err := storage.ParseNodeID(id); err != nil || got != tt.want {
			t.Errorf("%s: ParseNodeID(%q) = %+v, %v, want %+v", name, id, got, err, tt.want)
		}
		if other := seen[id]; other != "" {
			t.Errorf("%s and %s have the same id %q, want different ones", name, other, id)
		}
		seen[id] = name
	}
}

func TestLongestNodeIDIsParsed(t *testing.T) {
	long := storage.Read{
		User: storage.User{Tenant: strings.Repeat("t", storage.MaxTenantBytes), UserID: strings.Repeat("u", storage.MaxIDBytes)},
		Subject: storage.Subject{
			Tenant: strings.Repeat("t", storage.MaxTenantBytes), Biz: strings.Repeat("b", storage.MaxBizBytes), BizID: strings.Repeat("i", storage.MaxIDBytes),
		},
	}
	if ref, err := storage.ParseNodeID(long.ID()); err != nil || ref.Subject != long.Subject || ref.User != long.User {
		t.Errorf("ParseNodeID of the longest id = %+v, %v, want %+v", ref, err, long)
	}
}

// FuzzParseNodeID checks that the node parsed from an id has this id, so that no node has
// two ids. The error for anything that is not an id must be ErrNotFound.
func FuzzParseNodeID(f *testing.F) {
	f.Add("")
	f.Add((&storage.Interactive{Subject: storage.Subject{Tenant: "t", Biz: "video", BizID: "1"}}).ID())
	f.Add(storage.User{Tenant: "t", UserID: "u"}.ID())
	f.Add((&storage.Folder{Owner: storage.User{Tenant: "t", UserID: "u"}, FolderID: "default"}).ID())
	f.Add((&storage.DirectMessage{From: storage.User{Tenant: "t", UserID: "u"}, To: storage.User{Tenant: "t", UserID: "v"}, Number: 1}).ID())
	f.Add((&storage.Conversation{Owner: storage.User{Tenant: "t", UserID: "u"}, With: storage.User{Tenant: "t", UserID: "v"}}).ID())
	f.Add((&storage.Liked{User: storage.User{Tenant: "t", UserID: "u"}, Subject: storage.Subject{Tenant: "t", Biz: "b", BizID: "1"}}).ID())
	f.Fuzz(func(t *testing.T, id string) {
		ref, err := storage.ParseNodeID(id)
		if err != nil {
			if !errors.Is(err, storage.ErrNotFound) {
				t.Fatalf("ParseNodeID(%q): got %v, want %v", id, err, storage.ErrNotFound)
			}
			return
		}
		var node storage.Node
		switch ref.Type {
		case storage.NodeInteractive:
			node = &storage.Interactive{Subject: ref.Subject}
		case storage.NodeUser:
			node = ref.User
		case storage.NodeFolder:
			node = &storage.Folder{Owner: ref.User, FolderID: ref.FolderID}
		case storage.NodeLiked:
			node = &storage.Liked{User: ref.User, Subject: ref.Subject}
		case storage.NodeComment:
			node = &storage.Comment{Subject: storage.Subject{Tenant: ref.Comment.Tenant}, Number: ref.Comment.CommentID}
		case storage.NodeMessage:
			node = &storage.DirectMessage{From: ref.Message.From, To: ref.Message.To, Number: ref.Message.Number}
		case storage.NodeConversation:
			node = &storage.Conversation{Owner: ref.Conversation.Owner, With: ref.Conversation.With}
		case storage.NodeCollected:
			node = &storage.Collected{User: ref.User, Subject: ref.Subject}
		case storage.NodeFollowed:
			node = &storage.Followed{User: ref.User, Subject: ref.Subject}
		case storage.NodeRead:
			node = &storage.Read{User: ref.User, Subject: ref.Subject}
		default:
			t.Fatalf("ParseNodeID(%q) has the type %q, want a known one", id, ref.Type)
		}
		if node.ID() != id {
			t.Fatalf("ParseNodeID(%q) has the id %q, want the same", id, node.ID())
		}
	})
}
