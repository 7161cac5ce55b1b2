package media

import (
	"bytes"
	"encoding/binary"
	"slices"

	"ovation/storage"
)

// headBytes is the number of bytes that are inspected at the beginning of a file.
const headBytes = 4 << 10

// detectFormat returns the format of a file, detected by its first bytes, or 0 if
// the file is not a video in MP4, WebM or QuickTime.
func detectFormat(head []byte) storage.VideoFormat {
	if format := detectISOBMFF(head); format != 0 {
		return format
	}
	if isWebM(head) {
		return storage.WebM
	}
	return 0
}

// The brands of video files and of audio files in the ISO base media file format. Audio
// files list a video brand as compatible.
var (
	brands = []string{
		"isom", "iso2", "iso3", "iso4", "iso5", "iso6", "iso7", "iso8", "iso9", "mp41", "mp42", "avc1", "M4V ", "M4VH", "M4VP",
		"MSNV", "dash", "3gp4", "3gp5", "3gp6", "3gp7", "3g2a", "3g2b", "3g2c", "mmp4",
	}
	sound = []string{"M4A ", "M4B ", "M4P ", "F4A ", "F4B "}
)

// detectISOBMFF parses the box at the start of a file in the ISO base media file format:
// its size, "ftyp", the major brand, a version and compatible brands.
func detectISOBMFF(head []byte) storage.VideoFormat {
	const fixed, brand = 16, 4
	if len(head) < fixed || string(head[4:8]) != "ftyp" {
		return 0
	}
	size := binary.BigEndian.Uint32(head)
	if size < fixed || size > 1024 || size%brand != 0 || int(size) > len(head) {
		return 0
	}
	major := string(head[8:12])
	switch {
	case major == "qt  ":
		return storage.QuickTime
	case slices.Contains(sound, major):
		return 0
	case slices.Contains(brands, major):
		return storage.MP4
	}
	for compatible := range slices.Chunk(head[fixed:size], brand) {
		if slices.Contains(brands, string(compatible)) {
			return storage.MP4
		}
	}
	return 0
}

var (
	ebml    = []byte{0x1a, 0x45, 0xdf, 0xa3}
	docType = []byte{0x42, 0x82}
)

// isWebM reports whether the document type in the header of an EBML document is webm. The
// header is a sequence of elements; each element has an id, a size and data.
func isWebM(head []byte) bool {
	rest, is := bytes.CutPrefix(head, ebml)
	if !is {
		return false
	}
	size, rest, ok := vint(rest)
	if !ok || size > uint64(len(rest)) {
		return false
	}
	for rest = rest[:size]; len(rest) > 0; {
		id := 1 // length in bytes
		for id < 4 && rest[0]&(0x80>>(id-1)) == 0 {
			id++
		}
		if len(rest) < id {
			return false
		}
		name := rest[:id]
		size, data, ok := vint(rest[id:])
		if !ok || size > uint64(len(data)) {
			return false
		}
		if bytes.Equal(name, docType) {
			return string(bytes.TrimRight(data[:size], "\x00")) == "webm"
		}
		rest = data[size:]
	}
	return false
}

// vint parses an EBML variable-length integer. The number of its leading zero bits
// determines its length.
func vint(from []byte) (n uint64, rest []byte, ok bool) {
	if len(from) == 0 || from[0] == 0 {
		return 0, nil, false
	}
	length := 1
	for from[0]&(0x80>>(length-1)) == 0 {
		length++
	}
	if len(from) < length {
		return 0, nil, false
	}
	n = uint64(from[0] & (0xff >> length))
	for _, b := range from[1:length] {
		n = n<<8 | uint64(b)
	}
	return n, from[length:], true
}
