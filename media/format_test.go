package media

import (
	"slices"
	"testing"

	"ovation/storage"
)

func TestVideosAreRecognisedByTheirBytes(t *testing.T) {
	for name, c := range map[string]struct {
		head []byte
		want storage.VideoFormat
	}{
		"MP4":                       {mp4(100), storage.MP4},
		"MP4 of a brand":            {boxed("M4V ", 100), storage.MP4},
		"MP4 by a compatible brand": {boxed("XYZ1", 100), storage.MP4}, // iso2
		"QuickTime":                 {boxed("qt  ", 100), storage.QuickTime},
		"WebM":                      {webm("webm"), storage.WebM},
		"WebM with padding":         {webm("webm\x00\x00"), storage.WebM},
		"Matroska":                  {webm("matroska"), 0},
		"sound":                     {boxed("M4A ", 100), 0},
		"nothing":                   {nil, 0},
		"a box without its brands":  {mp4(100)[:23], 0},
		"an EBML head alone":        {[]byte{0x1a, 0x45, 0xdf, 0xa3}, 0},
		"an EBML head cut short":    {webm("webm")[:9], 0},
		"ftyp later":                {append([]byte("0000"), mp4(100)...), 0},
		"text":                      {[]byte("0000ftypisom but text follows it all"), 0},
	} {
		if got := detectFormat(c.head); got != c.want {
			t.Errorf("detectFormat(%s) = %d, want %d", name, got, c.want)
		}
	}
}

func FuzzRecognise(f *testing.F) {
	for _, seed := range [][]byte{mp4(40), boxed("qt  ", 40), webm("webm"), {}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		format := detectFormat(head)
		if format != 0 && format.Extension() == "" {
			t.Errorf("detectFormat = %d, which has no extension", format)
		}
		if format != 0 && detectFormat(append(slices.Clip(head), "more"...)) != format {
			t.Errorf("detectFormat = %d, and with more bytes = %d, want no difference", format, detectFormat(append(slices.Clip(head), "more"...)))
		}
	})
}
