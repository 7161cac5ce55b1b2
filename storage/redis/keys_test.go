package redis

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ovation/storage"
	"ovation/storage/mirror"
)

// hashTag is the part of a key that a cluster hashes, by the rule of its
// specification.
func hashTag(key string) string {
	if _, rest, is := strings.Cut(key, "{"); is {
		if tag, _, is := strings.Cut(rest, "}"); is && tag != "" {
			return tag
		}
	}
	return key
}

func TestBracesInIDsDoNotCutTheHashTag(t *testing.T) {
	e := (&Store{opts: Options{Prefix: "ovation"}}).epochOf(17)
	subject := func(id string) storage.Subject { return storage.Subject{Tenant: "default", Biz: "video", BizID: id} }
	window := func(user, biz string) mirror.WindowKey {
		return mirror.WindowKey{User: storage.User{Tenant: "default", UserID: user}, Biz: biz}
	}
	// Ids made to share a slot.
	for _, id := range []string{"}", "}1", "x}2", "{", "{}", "x{a}b}", "}:u:alice", "%7D", "{%7D", "%", "é}"} {
		for _, key := range []string{e.countsKey(subject(id)), e.windowKey(window(id, "video"))} {
			if tag := hashTag(key); !strings.HasSuffix(tag, tagged(id)) || strings.Contains(tag, "}") {
				t.Errorf("%q: of the key %s the tag is %s", id, key, tag)
			}
		}
	}
	// Keys of ids without braces are what they were.
	if key := e.countsKey(subject("%7D:1")); key != "ovation:17:c:{default:video:%7D:1}" {
		t.Error(key)
	}
	if key := e.windowKey(window("alice%25", "video")); key != "ovation:17:w:{default:u:alice%25}:video" {
		t.Error(key)
	}
	ids := rapid.StringMatching(`[{}%a:]{1,6}|\{?%(7B|7D|25){1,2}`)
	rapid.Check(t, func(t *rapid.T) {
		for range 3 { // no server is asked
			one, other := ids.Draw(t, "one"), ids.Draw(t, "other")
			keys := [2]string{e.countsKey(subject(one)), e.countsKey(subject(other))}
			if one != other && (keys[0] == keys[1] || hashTag(keys[0]) == hashTag(keys[1])) {
				t.Errorf("%q and %q have the keys %q", one, other, keys)
			}
			if found, is := subjectOfKey("ovation", keys[0]); !is || found != subject(one) {
				t.Errorf("%q: %s is taken for the key of %+v", one, keys[0], found)
			}
			windows := [3]string{e.windowKey(window(one, "video")), e.windowKey(window(one, "a")), e.windowKey(window(other, "video"))}
			if hashTag(windows[0]) != hashTag(windows[1]) || one != other && hashTag(windows[0]) == hashTag(windows[2]) {
				t.Errorf("%q and %q: the windows %q", one, other, windows)
			}
			if found, is := e.parseWindowKey(windows[1]); !is || found != window(one, "a") {
				t.Errorf("%q: %s is taken for the window of %+v", one, windows[1], found)
			}
		}
	})
}
