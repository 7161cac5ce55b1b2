package keyspace

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ovation/storage"
	"ovation/storage/mirror"
)

// hashTag returns the part of a key that a cluster hashes, by the rule of the Redis
// Cluster specification.
func hashTag(key string) string {
	if _, rest, is := strings.Cut(key, "{"); is {
		if tag, _, is := strings.Cut(rest, "}"); is && tag != "" {
			return tag
		}
	}
	return key
}

func TestBracesInIDsDoNotCutTheHashTag(t *testing.T) {
	e := Of("ovation", 17)
	subject := func(id string) storage.Subject { return storage.Subject{Tenant: "default", Biz: "video", BizID: id} }
	window := func(user, biz string) mirror.WindowKey {
		return mirror.WindowKey{User: storage.User{Tenant: "default", UserID: user}, Biz: biz}
	}
	// Ids crafted to share a slot.
	for _, id := range []string{"}", "}1", "x}2", "{", "{}", "x{a}b}", "}:u:alice", "%7D", "{%7D", "%", "é}"} {
		for _, key := range []string{e.Counts(subject(id)), e.Window(window(id, "video"))} {
			if tag := hashTag(key); !strings.HasSuffix(tag, tagged(id)) || strings.Contains(tag, "}") {
				t.Errorf("hashTag(%q) = %q, want it to end in %q, the whole id", key, tag, tagged(id))
			}
		}
	}
	// Ids without braces are not escaped.
	if key := e.Counts(subject("%7D:1")); key != "ovation:17:c:{default:video:%7D:1}" {
		t.Errorf("got the key %s, want ovation:17:c:{default:video:%%7D:1}", key)
	}
	if key := e.Window(window("alice%25", "video")); key != "ovation:17:w:{default:u:alice%25}:video" {
		t.Errorf("got the key %s, want ovation:17:w:{default:u:alice%%25}:video", key)
	}
	ids := rapid.StringMatching(`[{}%a:]{1,6}|\{?%(7B|7D|25){1,2}`)
	rapid.Check(t, func(t *rapid.T) {
		for range 3 { // repetition is cheap, since no server is involved
			one, other := ids.Draw(t, "one"), ids.Draw(t, "other")
			keys := [2]string{e.Counts(subject(one)), e.Counts(subject(other))}
			if one != other && (keys[0] == keys[1] || hashTag(keys[0]) == hashTag(keys[1])) {
				t.Errorf("%q and %q have the keys %q, want two with different hash tags", one, other, keys)
			}
			if found, is := SubjectOf("ovation", keys[0]); !is || found != subject(one) {
				t.Errorf("SubjectOf(%q) = %+v, %t, want %+v", keys[0], found, is, subject(one))
			}
			windows := [3]string{e.Window(window(one, "video")), e.Window(window(one, "a")), e.Window(window(other, "video"))}
			if hashTag(windows[0]) != hashTag(windows[1]) || one != other && hashTag(windows[0]) == hashTag(windows[2]) {
				t.Errorf("%q and %q have the windows %q, want one hash tag for the first two, another for the third", one, other, windows)
			}
			if found, is := e.WindowOf(windows[1]); !is || found != window(one, "a") {
				t.Errorf("WindowOf(%q) = %+v, %t, want %+v", windows[1], found, is, window(one, "a"))
			}
		}
	})
}

func TestSubjectsOfKeys(t *testing.T) {
	for _, subject := range []storage.Subject{
		{Tenant: "default", Biz: "video", BizID: "movie"}, {Tenant: "other", Biz: "a", BizID: "}"}, {Tenant: "default", Biz: "a-b_c", BizID: "{x}:c:{y}:1"},
	} {
		for _, prefix := range []string{"ovation", "a:1"} {
			key := Of(prefix, 17).Counts(subject)
			if got, ok := SubjectOf(prefix, key); !ok || got != subject {
				t.Errorf("SubjectOf(%q) = %+v, %t, want %+v", key, got, ok, subject)
			}
		}
	}
	for _, key := range []string{
		"", "ovation", "ovation:2:alive", "ovation:2:w:{default:u:alice}:video", "ovation:2:c:{default:video}", "other:2:c:{a:b:c}", "ovation:2:c:{a:b:c",
	} {
		if got, ok := SubjectOf("ovation", key); ok {
			t.Errorf("SubjectOf(%q) = %+v, want none", key, got)
		}
	}
}
