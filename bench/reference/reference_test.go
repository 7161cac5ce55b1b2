package main

import "testing"

func TestParse(t *testing.T) {
	for body, want := range map[string]int{
		`{"subjects":[{"biz":"video","bizId":"1"},{"biz":"video","bizId":"2"}]}`: 2,
		`{"biz":"video","bizId":"1"}`:                                            1,
		`{}`:                                                                     0,
		`{"biz":"video"}`:                                                        0,
		`{"biz":"VIDEO","bizId":"1"}`:                                            0,
		`{"biz":"video","bizId":""}`:                                             0,
		`{"biz":"video","bizId":"1`:                                              0,
		`{"biz":"video","bizId":"a}1"}`:                                          0,
		`[{"biz":"a","bizId":"1"},{"biz":"b","bizId":"1"}]`:                      0,
	} {
		subjects, err := parse([]byte(body), "default")
		if len(subjects) != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v", body, subjects, err)
		}
	}
}

func TestCountsTakeTheOwnStatesForThoseTheyInclude(t *testing.T) {
	for text, want := range map[string]struct {
		share byte
		known bool
	}{
		"5 - 1 1 0:0,3:1": {1, true},
		"5 q 1 1 0:0,9:1": {0, true},
		"5 - 1 - 8:1":     {0, false},
		"5 - 1 1 -":       {0, false},
	} {
		e, err := parseEntry(text)
		if err != nil {
			t.Fatal(err)
		}
		if share, known := e.included(7); share != want.share || known != want.known {
			t.Errorf("%q: counts of version 7 include %d, known %t", text, share, known)
		}
	}
	if _, err := parseEntry("5 - 1"); err == nil {
		t.Error("half an entry is one")
	}
}
