package storage

import (
	"encoding/base64"
	"strings"
)

// Node is whatever can be fetched again by an id.
type Node interface {
	// ID is opaque, stable and unique among everything that is stored.
	ID() string
}

// NodeType is the first letter of what an id stands for.
type NodeType byte

// The types of Node.
const (
	NodeInteractive NodeType = 'I'
	NodeLiked       NodeType = 'L'
	NodeCollected   NodeType = 'C'
	NodeRead        NodeType = 'R'
	NodeFolder      NodeType = 'F'
	NodeUser        NodeType = 'U'
)

// NodeRef is what an id names. Which fields are set depends on Type: of an
// Interactive the subject, of a User the user, of a Folder user and folder id,
// of all others user and subject.
type NodeRef struct {
	Type     NodeType
	User     User
	Subject  Subject
	FolderID string
}

// FolderKey is the key of the folder that the id of a Folder names.
func (r NodeRef) FolderKey() FolderKey { return FolderKey{r.User, r.FolderID} }

// ID of the subject.
func (i *Interactive) ID() string { return subjectID(i.Subject) }

// ID of the user.
func (u User) ID() string { return nodeID(NodeUser, u.Tenant, u.UserID) }

// ID of the reaction, the same whatever the reaction is.
func (l *Liked) ID() string { return stateNodeID(NodeLiked, l.User, l.Subject) }

// ID of the item, the same whatever folder it lies in.
func (c *Collected) ID() string { return stateNodeID(NodeCollected, c.User, c.Subject) }

// ID of what was read.
func (r *Read) ID() string { return stateNodeID(NodeRead, r.User, r.Subject) }

// ID of the folder.
func (f *Folder) ID() string { return nodeID(NodeFolder, f.Owner.Tenant, f.Owner.UserID, f.FolderID) }

// ParseNodeID takes an id apart. Whatever is not an id that an ID method could
// have made is ErrNotFound.
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
	case ref.Type == NodeFolder && len(parts) == 3:
		ref.User, ref.FolderID = User{parts[0], parts[1]}, parts[2]
	case len(parts) == 4 && (ref.Type == NodeLiked || ref.Type == NodeCollected || ref.Type == NodeRead):
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

// nodeSeparator stands in no valid part: it is not printable.
const nodeSeparator = "\x00"

const maxNodeIDBytes = (1+MaxTenantBytes+MaxBizBytes+2*MaxIDBytes+3)*4/3 + 3

func subjectID(s Subject) string { return nodeID(NodeInteractive, s.Tenant, s.Biz, s.BizID) }

func stateNodeID(t NodeType, u User, s Subject) string {
	return nodeID(t, u.Tenant, u.UserID, s.Biz, s.BizID)
}

func nodeID(t NodeType, parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(t) + strings.Join(parts, nodeSeparator)))
}
