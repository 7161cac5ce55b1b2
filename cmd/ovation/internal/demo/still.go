package demo

import (
	"math/bits"
	"slices"

	"ovation/cmd/ovation/internal/demo/picture"
)

// A still is an MP4 file that shows one picture for five seconds. The demo uses stills as
// clips if ffmpeg cannot draw them. No encoder is needed: the first frame of the H.264
// stream holds uncompressed samples (macroblocks of type I_PCM), and all later frames
// repeat it.

const (
	stillColumns, stillRows  = 9, 16 // in macroblocks of 16 by 16 pixels
	stillFrames, frameMillis = 25, 200
	stillMillis              = stillFrames * frameMillis
)

const (
	stillWidth, stillHeight = 16 * stillColumns, 16 * stillRows
	stillTime               = 0.4 // of the frame of the scene that a still shows
)

// Still returns a still that shows a frame of a scene, one of picture.Scenes.
func Still(scene string) []byte {
	clip := picture.NewClip(scene, stillWidth, stillHeight)
	frame := make([]byte, clip.Bytes())
	clip.Draw(stillTime, frame)
	var samples []byte
	sizes := make([]int, stillFrames)
	for n := range sizes {
		slice := stillRepeat(n)
		if n == 0 {
			slice = stillSlice(frame)
		}
		sample := slices.Concat(be32(len(slice)), slice)
		samples, sizes[n] = append(samples, sample...), len(sample)
	}
	kind := box("ftyp", []byte("isom"), be32(512), []byte("isomavc1mp41"))
	moov := stillMovie(sizes, 0)
	moov = stillMovie(sizes, len(kind)+len(moov)+8)
	return slices.Concat(kind, moov, box("mdat", samples))
}

// stillRepeat returns frame n, which repeats the picture by skipping all macroblocks.
func stillRepeat(n int) []byte {
	b := &bitWriter{bytes: []byte{0x41}}
	b.exp(0, 5, 0)                  // the first macroblock, a P slice, the id of the picture parameter set
	b.put(4, uint32(n%16))          // the frame's number
	b.put(3, 0)                     // no override of the number of references, no reordering, no adaptive marking
	b.exp(0, 1)                     // no change of the quantiser, no deblocking
	b.exp(stillColumns * stillRows) // all macroblocks are skipped
	b.end()
	return b.bytes
}

// stillSlice returns the first frame: the picture, of which frame has the red, green and
// blue bytes, as an IDR slice.
func stillSlice(frame []byte) []byte {
	b := &bitWriter{bytes: []byte{0x65}}
	b.exp(0, 7, 0) // the first macroblock, an I slice, the id of the picture parameter set
	b.put(4, 0)    // the frame's number
	b.exp(0)       // the picture's id
	b.put(2, 0)    // earlier pictures are output; not a long-term reference
	b.exp(0, 1)    // no change of the quantiser, no deblocking
	for row := range stillRows {
		for column := range stillColumns {
			b.exp(25) // I_PCM
			b.align()
			for _, plane := range []struct{ size, index int }{{16, 0}, {8, 1}, {8, 2}} {
				every := 16 / plane.size
				for y := range plane.size {
					for x := range plane.size {
						at := 3 * ((16*row+y*every)*stillWidth + 16*column + x*every)
						b.bytes = append(b.bytes, stillSample(frame[at:], plane.index))
					}
				}
			}
		}
	}
	b.end()
	return b.bytes
}

// stillSample returns the luma sample (plane 0) or a chroma sample (planes 1 and 2) of a
// pixel, as BT.601 defines it. The sample is at least 16, so that no bytes of the stream
// look like the beginning of a NAL unit.
func stillSample(pixel []byte, plane int) byte {
	r, g, b := float32(pixel[0])/255, float32(pixel[1])/255, float32(pixel[2])/255
	switch plane {
	case 0:
		return byte(16.5 + 65.481*r + 128.553*g + 24.966*b)
	case 1:
		return byte(128.5 - 37.797*r - 74.203*g + 112*b)
	}
	return byte(128.5 + 112*r - 93.786*g - 18.214*b)
}

// The sequence and picture parameter sets of H.264, for the constrained baseline profile.
var (
	stillSequence = stillUnit([]byte{0x67, 66, 0xc0, 30}, func(b *bitWriter) {
		b.exp(0, 0, 2, 1) // id, size of frame numbers, order as decoded, reference frames
		b.put(1, 0)
		b.exp(stillColumns-1, stillRows-1)
		b.put(4, 0b1100) // frame macroblocks only, direct inference; no cropping, no VUI parameters
	})
	stillPicture = stillUnit([]byte{0x68}, func(b *bitWriter) {
		b.exp(0, 0)
		b.put(2, 0)
		b.exp(0, 0, 0)
		b.put(3, 0)
		b.exp(0, 0, 0)
		b.put(3, 0b100) // slice headers contain the deblocking settings
	})
)

func stillUnit(head []byte, write func(*bitWriter)) []byte {
	b := &bitWriter{bytes: head}
	write(b)
	b.end()
	return b.bytes
}

// stillMovie returns the moov box for samples of the given sizes. offset is the position
// of the first sample in the file.
func stillMovie(sizes []int, offset int) []byte {
	matrix := be32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
	codec := box("avcC", []byte{1}, stillSequence[1:4], []byte{0xff, 0xe1},
		be16(len(stillSequence)), stillSequence, []byte{1}, be16(len(stillPicture)), stillPicture)
	entry := box("avc1", make([]byte, 6), be16(1), make([]byte, 16), be16(stillWidth), be16(stillHeight),
		be32(0x480000, 0x480000, 0), be16(1), make([]byte, 32), be16(24), be16(0xffff), codec)
	table := box("stbl",
		box("stsd", be32(0, 1), entry),
		box("stts", be32(0, 1, stillFrames, frameMillis)),
		box("stss", be32(0, 1, 1)),
		box("stsc", be32(0, 1, 1, stillFrames, 1)),
		box("stsz", be32(0, 0, stillFrames), be32(sizes...)),
		box("stco", be32(0, 1, offset)))
	info := box("minf",
		box("vmhd", be32(1, 0, 0)),
		box("dinf", box("dref", be32(0, 1), box("url ", be32(1)))),
		table)
	track := box("trak",
		box("tkhd", be32(7, 0, 0, 1, 0, stillMillis, 0, 0, 0, 0), matrix, be32(stillWidth<<16, stillHeight<<16)),
		box("mdia",
			box("mdhd", be32(0, 0, 0, 1000, stillMillis), be16(0x55c4), be16(0)),
			box("hdlr", be32(0, 0), []byte("vide"), make([]byte, 12), []byte("still\x00")),
			info))
	return box("moov",
		box("mvhd", be32(0, 0, 0, 1000, stillMillis, 0x10000), be16(0x100), make([]byte, 10), matrix, make([]byte, 24), be32(2)),
		track)
}

// box returns a box of an MP4 file.
func box(kind string, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	return slices.Concat(be32(8+len(content)), []byte(kind), content)
}

func be32(values ...int) (out []byte) {
	for _, v := range values {
		out = append(out, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return out
}

func be16(v int) []byte { return []byte{byte(v >> 8), byte(v)} }

// bitWriter writes bits, beginning with the highest bit of each byte.
type bitWriter struct {
	bytes []byte
	used  int // number of bits used in the last byte; 0 means all bits
}

func (b *bitWriter) put(count int, value uint32) {
	for n := count - 1; n >= 0; n-- {
		if b.used == 0 {
			b.bytes = append(b.bytes, 0)
		}
		b.bytes[len(b.bytes)-1] |= byte(value>>n&1) << (7 - b.used)
		b.used = (b.used + 1) % 8
	}
}

// exp writes the values as exponential Golomb codes.
func (b *bitWriter) exp(values ...uint32) {
	for _, v := range values {
		length := bits.Len32(v+1) - 1
		b.put(length, 0)
		b.put(length+1, v+1)
	}
}

func (b *bitWriter) align() { b.used = 0 }

// end writes the stop bit of a unit.
func (b *bitWriter) end() {
	b.put(1, 1)
	b.align()
}
