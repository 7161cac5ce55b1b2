package storage

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// Node is an object that can be fetched by its id.
type Node interface {
	// ID returns the id, which is opaque, stable and unique in the store.
	ID() string
}

// NodeType is a letter that names the type of a Node. Every id contains it.
type NodeType byte

// The types of Node.
const (
	NodeInteractive NodeType = 'I'
	NodeLiked       NodeType = 'L'
	NodeCollected   NodeType = 'C'
	NodeRead        NodeType = 'R'
	NodeFolder      NodeType = 'F'
	NodeUser        NodeType = 'U'
	NodeComment     NodeType = 'M'
	NodeFollowed    NodeType = 'W'

	NodeMessage      NodeType = 'G'
	NodeConversation NodeType = 'V'
	NodeVideo        NodeType = 'P'
)

// NodeRef is the key of a node. Type determines which fields are set: the subject for an
// Interactive, the user for a User, user and folder id for a Folder, the comment for a
// Comment, the message for a Message, the conversation for a Conversation, the video for
// a Video, and user and subject for all other types.
type NodeRef struct {
	Type     NodeType
	User     User
	Subject  Subject
	FolderID string
	Comment  CommentKey
	Message  DirectMessageKey

	Conversation ConversationKey
	Video        VideoKey
}

// FolderKey returns the key of the folder that r names; r.Type must be NodeFolder.
func (r NodeRef) FolderKey() FolderKey { return FolderKey{r.User, r.FolderID} }

// ID returns the id of the subject.
func (i *Interactive) ID() string { return subjectID(i.Subject) }

// ID returns the id of the user as a node.
func (u User) ID() string { return nodeID(NodeUser, u.Tenant, u.UserID) }

// ID returns the id of the state. The id does not depend on the reaction.
func (l *Liked) ID() string { return stateNodeID(NodeLiked, l.User, l.Subject) }

// ID returns the id of the item. The id does not depend on the folder.
func (c *Collected) ID() string { return stateNodeID(NodeCollected, c.User, c.Subject) }

// ID returns the id of the read state.
func (r *Read) ID() string { return stateNodeID(NodeRead, r.User, r.Subject) }

// ID returns the id of the follow.
func (f *Followed) ID() string { return stateNodeID(NodeFollowed, f.User, f.Subject) }

// ID returns the id of the folder as a node.
func (f *Folder) ID() string { return nodeID(NodeFolder, f.Owner.Tenant, f.Owner.UserID, f.FolderID) }

// ID returns the id of the comment as a node.
func (c *Comment) ID() string { return nodeID(NodeComment, c.Subject.Tenant, c.CommentID()) }

// ID returns the id of the message as a node.
func (m *DirectMessage) ID() string {
	return nodeID(NodeMessage, m.From.Tenant, m.From.UserID, m.To.UserID, strconv.FormatInt(m.Number, 10))
}

// ID returns the id of the conversation.
func (c *Conversation) ID() string {
	return nodeID(NodeConversation, c.Owner.Tenant, c.Owner.UserID, c.With.UserID)
}

// ID returns the id of the video as a node.
func (v *Video) ID() string { return nodeID(NodeVideo, v.Author.Tenant, v.VideoID()) }

// ParseNodeID parses an id. The error is ErrNotFound if no ID method could have returned
// the id.
func ParseNodeID(id string) (NodeRef, error) {
	if len(id) > maxNodeIDBytes {
		return NodeRef{}, ErrNotFound
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil || len(raw) < 2 {
		return NodeRef{}, ErrNotFound
	}
	ref := NodeRef{Type: NodeType(raw[0])}
	parts := strings.Split(string(raw[1:]), nodeSeparator)
	switch {
	case ref.Type == NodeInteractive && len(parts) == 3:
		ref.Subject = Subject{parts[0], parts[1], parts[2]}
	case ref.Type == NodeUser && len(parts) == 2:
		ref.User = User{parts[0], parts[1]}
	case ref.Type == NodeComment && len(parts) == 2:
		id, ok := ParseCommentID(parts[1])
		if !ok {
			return NodeRef{}, ErrNotFound
		}
		ref.Comment = CommentKey{parts[0], id}
	case ref.Type == NodeVideo && len(parts) == 2:
		number, ok := ParseCommentID(parts[1])
		if !ok {
			return NodeRef{}, ErrNotFound
		}
		ref.Video = VideoKey{parts[0], number}
	case ref.Type == NodeMessage && len(parts) == 4:
		number, ok := ParseCommentID(parts[3])
		if !ok {
			return NodeRef{}, ErrNotFound
		}
		ref.Message = DirectMessageKey{User{parts[0], parts[1]}, User{parts[0], parts[2]}, number}
	case ref.Type == NodeConversation && len(parts) == 3:
		ref.Conversation = ConversationKey{User{parts[0], parts[1]}, User{parts[0], parts[2]}}
	case ref.Type == NodeFolder && len(parts) == 3:
		ref.User, ref.FolderID = User{parts[0], parts[1]}, parts[2]
	case len(parts) == 4 && (ref.Type == NodeLiked || ref.Type == NodeCollected || ref.Type == NodeRead || ref.Type == NodeFollowed):
		ref.User, ref.Subject = User{parts[0], parts[1]}, Subject{parts[0], parts[2], parts[3]}
	default:
		return NodeRef{}, ErrNotFound
	}
	if ref.validate() != nil {
		return NodeRef{}, ErrNotFound
	}
	return ref, nil
}

func (r NodeRef) validate() error {
	if r.Type == NodeComment {
		return ValidateTenant(r.Comment.Tenant)
	}
	if r.Type == NodeVideo {
		return r.Video.Validate()
	}
	if r.Type == NodeMessage {
		return r.Message.Conversation(r.Message.From).Validate()
	}
	if r.Type == NodeConversation {
		return r.Conversation.Validate()
	}
	if r.Type != NodeUser && r.Type != NodeFolder {
		if err := r.Subject.Validate(); err != nil {
			return err
		}
	}
	if r.Type == NodeInteractive {
		return nil
	}
	if err := r.User.Validate(); err != nil {
		return err
	}
	if r.User.Anonymous() || len(r.FolderID) > MaxFolderIDBytes || r.Type == NodeFolder && r.FolderID == "" {
		return ErrNotFound
	}
	return nil
}

// nodeSeparator occurs in no part of a valid id, since it is not printable.
const nodeSeparator = "\x00"

const maxNodeIDBytes = (1+MaxTenantBytes+MaxBizBytes+2*MaxIDBytes+3)*4/3 + 3

func subjectID(s Subject) string { return nodeID(NodeInteractive, s.Tenant, s.Biz, s.BizID) }

func stateNodeID(t NodeType, u User, s Subject) string {
	return nodeID(t, u.Tenant, u.UserID, s.Biz, s.BizID)
}

func nodeID(t NodeType, parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(t) + strings.Join(parts, nodeSeparator)))
}
