package amqp

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ovation/internal/testing/seed"
	"ovation/storage"
)

var _ = seed.ForRapid()

// anyMessage generates messages with arbitrary actions, valid or not.
func anyMessage() *rapid.Generator[storage.Message] {
	return rapid.Custom(func(t *rapid.T) storage.Message {
		text := rapid.OneOf(rapid.SampledFrom([]string{"", "default", "video", "alice"}), rapid.String())
		user := rapid.Custom(func(t *rapid.T) storage.User {
			return storage.User{Tenant: text.Draw(t, "tenant"), UserID: text.Draw(t, "user")}
		})
		subject := rapid.Custom(func(t *rapid.T) storage.Subject {
			return storage.Subject{Tenant: text.Draw(t, "tenant"), Biz: text.Draw(t, "biz"), BizID: text.Draw(t, "id")}
		})
		action := rapid.Custom(func(t *rapid.T) storage.Action {
			return storage.Action{
				User: user.Draw(t, "user"), Subject: subject.Draw(t, "subject"),
				Kind: storage.Kind(rapid.Byte().Draw(t, "kind")), Reaction: storage.Reaction(rapid.Byte().Draw(t, "reaction")),
				If:       storage.Reaction(rapid.SampledFrom([]byte{0, 0, 1, 2, 255}).Draw(t, "if")),
				FolderID: text.Draw(t, "folder"), Times: rapid.Int64().Draw(t, "times"),
				First: rapid.Int64().Draw(t, "first"), Version: rapid.Int64().Draw(t, "version"),
				Following: rapid.IntRange(0, 9).Draw(t, "following") == 0,
			}
		})
		return storage.Message{
			ID: text.Draw(t, "id"), Forever: rapid.Bool().Draw(t, "forever"),
			Actions: rapid.SliceOfN(action, 0, 20).Draw(t, "actions"),
		}
	})
}

func TestMessageIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyMessage().Draw(t, "message")
		at := storage.Time(rapid.Int64Range(0, 1<<60).Draw(t, "at"))
		got, gotAt, err := decode(encode(want, at))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) && len(got.Actions)+len(want.Actions) > 0 || got.ID != want.ID {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if !gotAt.Equal(at) {
			t.Errorf("decoded: got published at %v, want %v", gotAt, at)
		}
	})
}

// TestFormOfEachVersion checks that the format of each version stays the same, because
// queues may hold messages of every version. The messages here are published at time 2.
func TestFormOfEachVersion(t *testing.T) {
	alice, bob := storage.User{Tenant: "default", UserID: "alice"}, storage.User{Tenant: "default", UserID: "bob"}
	subject := storage.Subject{Tenant: "default", Biz: "video", BizID: "42"}
	follows := []storage.Action{
		{User: alice, Subject: bob.Subject(), Kind: storage.KindFollow, Following: true, Version: 10},
		{User: alice, Subject: bob.Subject(), Kind: storage.KindReaction, Reaction: storage.Like, Version: 11},
		{User: alice, Subject: bob.Subject(), Kind: storage.KindFollow, Version: 12},
	}
	for name, c := range map[string]struct {
		m       storage.Message
		form    string
		damaged []string
	}{
		"1": {
			storage.Message{ID: "m1", Forever: true, Actions: []storage.Action{
				{User: alice, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Dislike, Version: 10},
				{User: storage.User{Tenant: "default"}, Subject: subject, Kind: storage.KindRead, Times: 2, First: 5, Version: 11},
			}},
			"\x01\x01\x04\x00\x02m1\x02" +
				"\x01\x02\x00\x07default\x00\x05alice\x03\x00\x05video\x00\x0242\x01\x00\x00\x14" +
				"\x03\x00\x03\x01\x03\x05\x06\x01\x04\x0a\x02", nil,
		},
		"2, only with a conditional clear": {
			storage.Message{ID: "m1", Actions: []storage.Action{
				{User: alice, Subject: subject, Kind: storage.KindReaction, If: storage.Dislike, Version: 10},
				{User: alice, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: 11},
			}},
			"\x02\x00\x04\x00\x02m1\x02" +
				"\x01\x00\x02\x00\x07default\x00\x05alice\x03\x00\x05video\x00\x0242\x01\x00\x00\x14" +
				"\x01\x01\x00\x03\x04\x03\x05\x06\x01\x00\x00\x02", nil,
		},
		"3, only barriers": {
			storage.Message{ID: "m1", Barrier: storage.Barrier{Number: 300, Partition: 3, Partitions: 4}},
			"\x03\x00\x04\x00\x02m1\xac\x02\x03\x04",
			[]string{
				"\x03\x00\x04\x00\x02m1\x00\x03\x04", "\x03\x00\x04\x00\x02m1\x01\x04\x04", "\x03\x00\x04\x00\x02m1\x01\x03\x04\x00",
				"\x03\x00\x04\x00\x02m1\x01\x00\xff\xff\xff\xff\x7f", "\x03\x00\x04\x00\x02m1\x01",
			},
		},
		"4, only with a follow or an unfollow": {
			storage.Message{ID: "m1", Actions: follows},
			"\x04\x00\x04\x00\x02m1\x03" +
				"\x04\x00\x00\x01\x00\x07default\x00\x05alice\x03\x00\x04user\x00\x03bob\x01\x00\x00\x14" +
				"\x01\x01\x00\x00\x03\x04\x03\x05\x06\x01\x00\x00\x02" +
				"\x04\x00\x00\x00\x03\x04\x03\x05\x06\x01\x00\x00\x02",
			[]string{
				"\x04\x00\x04\x00\x02m1\x01\x04\x00\x00\x02\x00\x07default\x00\x05alice\x03\x00\x04user\x00\x03bob\x01\x00\x00\x14", // neither set nor unset
			},
		},
		"4, an unfollow alone": {
			storage.Message{ID: "m1", Actions: follows[2:]},
			"\x04\x00\x04\x00\x02m1\x01" +
				"\x04\x00\x00\x00\x00\x07default\x00\x05alice\x03\x00\x04user\x00\x03bob\x01\x00\x00\x18", nil,
		},
		"5, only jobs for covers": {
			storage.Message{ID: "m1", Cover: storage.VideoKey{Tenant: "default", Number: 300}},
			"\x05\x00\x04\x00\x02m1\x00\x07default\xac\x02",
			[]string{
				"\x05\x00\x04\x00\x02m1\x00\x07default\x00", "\x05\x00\x04\x00\x02m1\x00\x07DEFAULT\x01", "\x05\x00\x04\x00\x02m1\x00\x07default",
				"\x05\x00\x04\x00\x02m1\x00\x07default\x01\x00", "\x05\x00\x04\x00\x02m1\x00\x07default\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x05\x00\x04\x00\x02m1\x01\x01",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := encode(c.m, storage.Time(2)); string(got) != c.form {
				t.Errorf("encode(%+v)\n   = %q\nwant %q", c.m, got, c.form)
			}
			if got, _, err := decode([]byte(c.form)); err != nil || !reflect.DeepEqual(got, c.m) {
				t.Errorf("decode(%q)\n   = %+v, %v\nwant %+v", c.form, got, err, c.m)
			}
			for _, damaged := range c.damaged {
				if _, _, err := decode([]byte(damaged)); !errors.Is(err, errForm) {
					t.Errorf("decode(%q): got %v, want %v", damaged, err, errForm)
				}
			}
		})
	}
}

func TestDamagedMessageIsAnError(t *testing.T) {
	whole := encode(message("m"), time.Now())
	for n := range whole {
		if _, _, err := decode(whole[:n]); !errors.Is(err, errForm) {
			t.Errorf("decoding the first %d of %d bytes: got %v, want %v", n, len(whole), err, errForm)
		}
	}
	if _, _, err := decode(append(bytes.Clone(whole), 0)); !errors.Is(err, errForm) {
		t.Errorf("decoding one byte more: got %v, want %v", err, errForm)
	}
	newer := bytes.Clone(whole)
	newer[0] = formatHighest + 1
	if _, _, err := decode(newer); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d", newer[0])) {
		t.Errorf("decoding a newer version: got %v, want an error that names version %d", err, newer[0])
	}
}

func TestMessageIsCompact(t *testing.T) {
	m := storage.Message{ID: "0193c7e2-1111-7222-8333-444444444444"}
	for i := range 1000 {
		a := message("video-" + strings.Repeat("1", i%7)).Actions[0]
		a.User.UserID, a.Version = "user-"+strings.Repeat("2", i%11), 1_700_000_000_000_000+int64(i)*100
		m.Actions = append(m.Actions, a)
	}
	if got := len(encode(m, time.Now())) / len(m.Actions); got > 16 {
		t.Errorf("got %d bytes for an action of few users and subjects, want at most 16", got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(message("m"), time.Now()))
	f.Add(encode(storage.Message{ID: "b", Barrier: storage.Barrier{Number: 300, Partition: 3, Partitions: 4}}, time.Now()))
	f.Add([]byte{1, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, body []byte) {
		m, at, err := decode(body)
		if err != nil {
			return
		}
		again, _, err := decode(encode(m, at))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("got %+v, %v, decoded once more, want %+v", again, err, m)
		}
	})
}
