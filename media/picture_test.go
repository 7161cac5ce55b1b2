package media

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// corners is a picture with a colour in each corner: r, g, b and y, from the left to the
// right and from the top to the bottom.
func corners(width, height int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.RGBA{A: 255}
			right, low := x >= width/2, y >= height/2
			if !low && !right || low && right {
				c.R = 255
			}
			if right {
				c.G = 255
			}
			if low && !right {
				c.B = 255
			}
			out.SetRGBA(x, y, c)
		}
	}
	return out
}

// cornersOf returns the colours in the corners of a stored picture, as letters. Other
// colours are "?".
func cornersOf(t *testing.T, file []byte) (letters string) {
	t.Helper()
	picture, err := jpeg.Decode(bytes.NewReader(file))
	must.Succeed(t, err)
	if size := picture.Bounds().Size(); size != image.Pt(AvatarSide, AvatarSide) {
		t.Errorf("the picture has %v pixels, want %d a side", size, AvatarSide)
	}
	for _, at := range []image.Point{{20, 20}, {235, 20}, {20, 235}, {235, 235}} {
		r, g, b, _ := picture.At(at.X, at.Y).RGBA()
		switch [3]bool{r > 0x8000, g > 0x8000, b > 0x8000} {
		case [3]bool{true, false, false}:
			letters += "r"
		case [3]bool{false, true, false}:
			letters += "g"
		case [3]bool{false, false, true}:
			letters += "b"
		case [3]bool{true, true, false}:
			letters += "y"
		case [3]bool{true, true, true}:
			letters += "w"
		default:
			letters += "?"
		}
	}
	return letters
}

func encoded(t *testing.T, encode func(io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	must.Succeed(t, encode(&out))
	return out.Bytes()
}

func jpegOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	return encoded(t, func(w io.Writer) error { return jpeg.Encode(w, m, nil) })
}

func pngOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	return encoded(t, func(w io.Writer) error { return png.Encode(w, m) })
}

func gifOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	return encoded(t, func(w io.Writer) error { return gif.Encode(w, m, nil) })
}

// webpCorners is corners(40, 20) as a WebP file.
const webpCorners = "UklGRjoAAABXRUJQVlA4TC4AAAAvJ8AEAB8gEEjaH3qN+RcQFPk/2vwHXyRATcA0DCYxicmOvAiI6P8EDM1mYtgM"

// withExif returns a JPEG file with an Exif segment that holds an orientation and a secret.
func withExif(file []byte, order binary.AppendByteOrder, orientation uint16, secret string) []byte {
	tiff := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8) // the offset of the first directory
	tiff = order.AppendUint16(tiff, 2)
	entry := func(tag, kind uint16, value uint16) {
		tiff = order.AppendUint16(order.AppendUint16(tiff, tag), kind)
		tiff = order.AppendUint16(order.AppendUint16(order.AppendUint32(tiff, 1), value), 0)
	}
	entry(0x0100, 3, 40)
	entry(0x0112, 3, orientation)
	content := slices.Concat([]byte("Exif\x00\x00"), tiff, []byte(secret))
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(content)+2))
	comment := []byte{0xff, 0xfe, 0, 4, 'h', 'i'}
	return slices.Concat(file[:2], comment, segment, content, file[2:])
}

func encodeForTest(t *testing.T, file []byte) ([]byte, error) {
	t.Helper()
	return encodeAvatar(t.Context(), make(chan struct{}, 1), file)
}

// TestPicturesBecomeSquares checks each format, and pictures that are wide, high, small,
// transparent, grey and animated.
func TestPicturesBecomeSquares(t *testing.T) {
	webp, err := base64.StdEncoding.DecodeString(webpCorners)
	must.Succeed(t, err)
	grey := image.NewGray(image.Rect(0, 0, 50, 60))
	for i := range grey.Pix {
		grey.Pix[i] = 255
	}
	wide := image.NewRGBA(image.Rect(0, 0, 900, 100)) // its middle square is red
	for i := range wide.Pix {
		wide.Pix[i] = 255
		if x := i / 4 % 900; i%4 == 1 || i%4 == 2 {
			if x >= 400 && x < 500 {
				wide.Pix[i] = 0
			}
		}
	}
	animated := &gif.GIF{Delay: []int{0, 0}}
	for _, m := range []image.Image{corners(30, 30), grey} {
		frame := image.NewPaletted(image.Rect(0, 0, 30, 30), color.Palette{color.White, color.RGBA{255, 0, 0, 255}, color.RGBA{0, 255, 0, 255}, color.RGBA{0, 0, 255, 255}, color.RGBA{255, 255, 0, 255}})
		for i := range frame.Pix {
			frame.Set(i%30, i/30, m.At(i%30, i/30))
		}
		animated.Image = append(animated.Image, frame)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"JPEG":        {jpegOf(t, corners(400, 300)), "rgby"},
		"PNG":         {pngOf(t, corners(300, 400)), "rgby"},
		"GIF":         {gifOf(t, corners(300, 300)), "rgby"},
		"WebP":        {webp, "rgby"},
		"small":       {pngOf(t, corners(2, 2)), "rgby"},
		"one pixel":   {pngOf(t, grey.SubImage(image.Rect(0, 0, 1, 1))), "wwww"},
		"grey":        {jpegOf(t, grey), "wwww"},
		"transparent": {pngOf(t, image.NewRGBA(image.Rect(0, 0, 20, 30))), "wwww"},
		"16 bits":     {pngOf(t, image.NewNRGBA64(image.Rect(0, 0, 20, 30))), "wwww"},
		"wide":        {pngOf(t, wide), "rrrr"},
		"animated":    {encoded(t, func(w io.Writer) error { return gif.EncodeAll(w, animated) }), "rgby"},
	} {
		got, err := encodeForTest(t, c.file)
		if err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
			continue
		}
		if got := cornersOf(t, got); got != c.want {
			t.Errorf("%s: the corners are %s, want %s", name, got, c.want)
		}
	}
}

// TestPicturesAreUprightWithoutMetadata checks the eight orientations, in both byte orders.
func TestPicturesAreUprightWithoutMetadata(t *testing.T) {
	file := jpegOf(t, corners(400, 300))
	for orientation, want := range []string{1: "rgby", 2: "gryb", 3: "ybgr", 4: "byrg", 5: "rbgy", 6: "bryg", 7: "ygbr", 8: "gyrb", 9: "rgby"} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			got, err := encodeForTest(t, withExif(file, order, uint16(orientation), "52.5200 N"))
			must.Succeed(t, err)
			if want == "" { // orientation 0 is none
				want = "rgby"
			}
			if letters := cornersOf(t, got); letters != want {
				t.Errorf("orientation %d, %v: the corners are %s, want %s", orientation, order, letters, want)
			}
			if bytes.Contains(got, []byte("Exif")) || bytes.Contains(got, []byte("52.5200")) {
				t.Errorf("orientation %d: the stored file has the metadata of the uploaded one", orientation)
			}
		}
	}
	whole := withExif(file, binary.LittleEndian, 6, "")
	for n := range 120 { // no truncated header is read beyond its end
		_ = orientation(whole[:n])
		_ = orientation(append(slices.Clone(whole[:n]), 0xff, 0xe1, 0xff, 0xff))
	}
}

// TestHostilePicturesAreRefused checks files that are no pictures, are damaged, or declare
// more pixels than are decoded.
func TestHostilePicturesAreRefused(t *testing.T) {
	whole := map[string][]byte{"JPEG": jpegOf(t, corners(40, 30)), "PNG": pngOf(t, corners(40, 30)), "GIF": gifOf(t, corners(40, 30))}
	bomb := slices.Clone(whole["PNG"]) // IHDR is its first chunk
	binary.BigEndian.PutUint32(bomb[16:], 100_000)
	binary.BigEndian.PutUint32(bomb[20:], 100_000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	wide := slices.Clone(whole["GIF"])
	copy(wide[6:], "\xff\xff\xff\xff")
	sof := slices.Clone(whole["JPEG"])
	at := bytes.Index(sof, []byte{0xff, 0xc0})
	copy(sof[at+5:], "\xff\xff\xff\xff")
	type refused struct {
		file []byte
		want string
	}
	cases := map[string]refused{
		"nothing":      {nil, errNoPicture.Reason},
		"a page":       {[]byte("<!doctype html><script>alert(1)</script>"), errNoPicture.Reason},
		"SVG":          {[]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), errNoPicture.Reason},
		"BMP":          {append([]byte("BM"), make([]byte, 100)...), errNoPicture.Reason},
		"a video":      {mp4(1000), errNoPicture.Reason},
		"a sound":      {[]byte("RIFF\x00\x00\x00\x00WAVEfmt "), errNoPicture.Reason},
		"a PNG bomb":   {bomb, "100000 × 100000 pixels"},
		"a GIF bomb":   {wide, "65535 × 65535 pixels"},
		"a JPEG bomb":  {sof, "65535 × 65535 pixels"},
		"empty WebP":   {[]byte("RIFF\x04\x00\x00\x00WEBP"), errBadImage.Reason},
		"many scans":   {append(slices.Clone(whole["JPEG"]), bytes.Repeat([]byte("\xff\xda"), maxScans)...), errBadImage.Reason},
		"a JPEG start": {[]byte("\xff\xd8\xff"), errBadImage.Reason},
	}
	for name, file := range whole {
		cases["half a "+name] = refused{file[:len(file)/2], errBadImage.Reason}
	}
	for name, c := range cases {
		_, err := encodeForTest(t, c.file)
		if invalid, is := errors.AsType[*storage.InvalidError](err); !is || !strings.Contains(invalid.Reason, c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	for name, file := range whole { // no damage is worse than an error
		for i := 0; i < len(file); i += 11 {
			damaged := slices.Clone(file)
			damaged[i] ^= 0xff
			if _, err := encodeForTest(t, damaged); err != nil && !errors.Is(err, storage.ErrInvalid) {
				t.Errorf("%s with byte %d changed: got %v, want none or %v", name, i, err, storage.ErrInvalid)
			}
		}
	}
}

// TestPicturesAreDecodedOneAtATime checks that a picture waits for its slot, and that a
// client that leaves does not keep one.
func TestPicturesAreDecodedOneAtATime(t *testing.T) {
	s := newSite(t, nil)
	me := s.register(t, "ann")
	s.service.decodings <- struct{}{}
	ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
	defer leave()
	if _, err := s.service.SetAvatar(ctx, me, pngOf(t, corners(4, 4))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a picture while another is decoded: got %v, want %v", err, context.DeadlineExceeded)
	}
	<-s.service.decodings
	_, err := s.service.SetAvatar(t.Context(), me, pngOf(t, corners(4, 4)))
	must.Succeed(t, err)
	if n := len(s.service.decodings); n != 0 {
		t.Errorf("%d slots are taken afterwards, want none", n)
	}
}

// BenchmarkLargestPicture decodes and encodes pictures with the maximum number of pixels.
func BenchmarkLargestPicture(b *testing.B) {
	m := image.NewNRGBA(image.Rect(0, 0, 4096, 4096))
	for i := range m.Pix {
		m.Pix[i] = byte(i * i >> 7)
	}
	var one, two bytes.Buffer
	must.Succeed(b, png.Encode(&one, image.NewPaletted(m.Rect, color.Palette{color.White, color.Black})))
	must.Succeed(b, jpeg.Encode(&two, m, &jpeg.Options{Quality: 20}))
	for name, file := range map[string][]byte{"PNG": one.Bytes(), "JPEG": two.Bytes()} {
		b.Run(fmt.Sprintf("%s of %d KiB", name, len(file)>>10), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				_, err := encodeAvatar(b.Context(), make(chan struct{}, 1), file)
				must.Succeed(b, err)
			}
		})
	}
}
