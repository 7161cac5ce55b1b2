package douyin

import "encoding/json"

// status is the start of every reply. StatusCode 0 means success, and 1 means an error.
type status struct {
	StatusCode int    `json:"status_code"`
	StatusMsg  string `json:"status_msg"`
}

func (s *status) state() *status { return s }

// reply is a pointer to one of the types below.
type reply interface{ state() *status }

// list is a slice that is encoded as [] if it is empty, because clients do not accept
// null.
type list[T any] []T

// MarshalJSON implements json.Marshaler.
func (l list[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

type (
	sessionReply struct {
		status

		UserID int64  `json:"user_id"`
		Token  string `json:"token"`
	}
	userReply struct {
		status

		User *userJSON `json:"user"`
	}
	feedReply struct {
		status

		VideoList list[videoJSON] `json:"video_list"`
		NextTime  int64           `json:"next_time"` // in milliseconds since 1970
	}
	videosReply struct {
		status

		VideoList list[videoJSON] `json:"video_list"`
	}
	commentReply struct {
		status

		Comment *commentJSON `json:"comment,omitempty"` // nil if deleted
	}
	commentsReply struct {
		status

		CommentList list[commentJSON] `json:"comment_list"`
	}
	usersReply struct {
		status

		UserList list[userJSON] `json:"user_list"`
	}
	friendsReply struct {
		status

		UserList list[friendJSON] `json:"user_list"`
	}
	messagesReply struct {
		status

		MessageList list[messageJSON] `json:"message_list"`
	}
)

// userJSON is a user. The ID is below 2^53; it is 0 for a user without an account.
type userJSON struct {
	ID              int64  `json:"id"`
	Name            string `json:"name"`
	FollowCount     int64  `json:"follow_count"`
	FollowerCount   int64  `json:"follower_count"`
	IsFollow        bool   `json:"is_follow"`
	Avatar          string `json:"avatar"`
	BackgroundImage string `json:"background_image"`
	Signature       string `json:"signature"`
	TotalFavorited  int64  `json:"total_favorited"`
	WorkCount       int64  `json:"work_count"`
	FavoriteCount   int64  `json:"favorite_count"`
}

// friendJSON is a user, with the latest message between that user and the viewer.
type friendJSON struct {
	userJSON

	Message string `json:"message"`
	MsgType int    `json:"msgType"` //nolint:tagliatelle // the API has it so
}

// The values of msgType: the viewer received the message, or sent it.
const (
	received = 0
	sent     = 1
)

type videoJSON struct {
	ID            int64    `json:"id"`
	Author        userJSON `json:"author"`
	PlayURL       string   `json:"play_url"`
	CoverURL      string   `json:"cover_url"`
	FavoriteCount int64    `json:"favorite_count"`
	CommentCount  int64    `json:"comment_count"`
	IsFavorite    bool     `json:"is_favorite"`
	Title         string   `json:"title"`
}

type commentJSON struct {
	ID         int64    `json:"id"`
	User       userJSON `json:"user"`
	Content    string   `json:"content"`
	CreateDate string   `json:"create_date"` // MM-DD, UTC
}

type messageJSON struct {
	ID         int64  `json:"id"`
	ToUserID   int64  `json:"to_user_id"`
	FromUserID int64  `json:"from_user_id"`
	Content    string `json:"content"`
	CreateTime int64  `json:"create_time"` // in milliseconds since 1970
}
