package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"time"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"ovation/storage"
)

const (
	// AvatarSide is the width and the height of a stored picture, in pixels.
	AvatarSide = 256
	// avatarQuality is the JPEG quality of a stored picture, from 1 to 100.
	avatarQuality = 90
	// maxPixels is the maximum number of pixels of an uploaded picture. Decoding takes up
	// to 24 bytes for each (a progressive JPEG file of four colours), 400 MB in total.
	maxPixels = 1 << 24
	// maxScans is the maximum number of scans of a JPEG file. Each scan may visit all
	// pixels, whatever its size is; encoders write about ten.
	maxScans = 100
)

// pictureFormat is a format of pictures that can be uploaded.
type pictureFormat struct {
	magic  string // the first bytes; "?" stands for any byte
	scan   string // the marker of a scan, or empty if there is one pass
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error) // returns the first frame
}

// The elements share no state: the formats are not registered with package image.
var pictureFormats = []pictureFormat{
	{"\xff\xd8\xff", "\xff\xda", jpeg.DecodeConfig, jpeg.Decode},
	{"\x89PNG\r\n\x1a\n", "", png.DecodeConfig, png.Decode},
	{"GIF8?a", "", gif.DecodeConfig, gif.Decode},
	{"RIFF????WEBP", "", webp.DecodeConfig, webp.Decode},
}

func (f pictureFormat) matches(file []byte) bool {
	if len(file) < len(f.magic) {
		return false
	}
	for i := range len(f.magic) {
		if f.magic[i] != '?' && f.magic[i] != file[i] {
			return false
		}
	}
	return true
}

// Errors for files that are not pictures in a supported format.
var (
	errNoPicture = &storage.InvalidError{Field: "file", Reason: "is not a picture in JPEG, PNG, GIF or WebP, by its bytes"}
	errBadImage  = &storage.InvalidError{Field: "file", Reason: "is damaged, or a kind of JPEG, PNG, GIF or WebP that is not supported"}
)

// encodeAvatar returns the middle square of a picture as a JPEG file of AvatarSide pixels
// a side, upright, on white, and without the metadata of the picture. A slot is one of the
// places for decoding, which bound the memory. Errors: storage.ErrInvalid; ErrBusy if there
// is no slot within busyTime; the context's error.
func encodeAvatar(ctx context.Context, slots chan struct{}, file []byte) ([]byte, error) {
	for _, format := range pictureFormats {
		if !format.matches(file) {
			continue
		}
		config, err := format.config(bytes.NewReader(file))
		if err != nil {
			return nil, errBadImage
		}
		if int64(config.Width)*int64(config.Height) > maxPixels {
			return nil, &storage.InvalidError{Field: "file", Reason: fmt.Sprintf("is a picture of %d × %d pixels; at most %d million are allowed", config.Width, config.Height, maxPixels/1_000_000)}
		}
		if format.scan != "" && bytes.Count(file, []byte(format.scan)) > maxScans {
			return nil, errBadImage
		}
		patience := time.NewTimer(busyTime)
		defer patience.Stop()
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-patience.C:
			return nil, ErrBusy
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		source, err := format.decode(bytes.NewReader(file))
		if err != nil || source.Bounds().Empty() {
			return nil, errBadImage
		}
		var out bytes.Buffer
		err = jpeg.Encode(&out, turned(square(source), orientation(file)), &jpeg.Options{Quality: avatarQuality})
		return out.Bytes(), err
	}
	return nil, errNoPicture
}

// square returns the middle square of a picture, scaled and on white.
func square(of image.Image) *image.RGBA {
	to := image.NewRGBA(image.Rect(0, 0, AvatarSide, AvatarSide))
	xdraw.Draw(to, to.Bounds(), image.NewUniform(color.White), image.Point{}, xdraw.Src)
	from := of.Bounds()
	side := min(from.Dx(), from.Dy())
	from.Min = from.Min.Add(image.Pt((from.Dx()-side)/2, (from.Dy()-side)/2))
	from.Max = from.Min.Add(image.Pt(side, side))
	xdraw.CatmullRom.Scale(to, to.Bounds(), of, from, xdraw.Over, nil)
	return to
}

// turned returns a square picture upright. The orientation is that of Exif: 1 to 8, where
// 1 is upright.
func turned(of *image.RGBA, orientation int) *image.RGBA {
	last := of.Bounds().Dx() - 1
	source := map[int]func(x, y int) (int, int){ // of each pixel of the upright picture
		2: func(x, y int) (int, int) { return last - x, y },
		3: func(x, y int) (int, int) { return last - x, last - y },
		4: func(x, y int) (int, int) { return x, last - y },
		5: func(x, y int) (int, int) { return y, x },
		6: func(x, y int) (int, int) { return y, last - x },
		7: func(x, y int) (int, int) { return last - y, last - x },
		8: func(x, y int) (int, int) { return last - y, x },
	}[orientation]
	if source == nil {
		return of
	}
	to := image.NewRGBA(of.Bounds())
	for y := range last + 1 {
		for x := range last + 1 {
			to.SetRGBA(x, y, of.RGBAAt(source(x, y)))
		}
	}
	return to
}

// orientation returns the Exif orientation of a JPEG file. It is 0 for other files, and
// for files without a readable orientation.
func orientation(file []byte) int {
	const (
		start, app1, scan = 0xd8, 0xe1, 0xda // markers of segments
		header            = "Exif\x00\x00"
	)
	if len(file) < 2 || file[0] != 0xff || file[1] != start {
		return 0
	}
	for rest := file[2:]; len(rest) >= 4 && rest[0] == 0xff && rest[1] != scan; {
		size := int(binary.BigEndian.Uint16(rest[2:])) // of the segment without its marker
		if size < 2 || len(rest) < 2+size {
			return 0
		}
		if content := rest[4 : 2+size]; rest[1] == app1 && bytes.HasPrefix(content, []byte(header)) {
			return orientationTag(content[len(header):])
		}
		rest = rest[2+size:]
	}
	return 0
}

// orientationTag returns the orientation in a TIFF structure: an entry of its first
// directory, which has entries of 12 bytes.
func orientationTag(tiff []byte) int {
	const tag, short, entryBytes = 0x0112, 3, 12
	if len(tiff) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 0
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < entryBytes {
			return 0
		}
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == short {
			return int(order.Uint16(entries[8:]))
		}
		entries = entries[entryBytes:]
	}
	return 0
}
