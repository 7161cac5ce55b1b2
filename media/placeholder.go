package media

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"sync"

	"ovation/storage"
)

// placeholders holds the generated pictures, which are created on first use.
var placeholders [storage.Placeholders]struct {
	once sync.Once
	png  []byte
}

// placeholder returns picture n for videos without a cover. n is from 0 to
// storage.Placeholders-1.
func placeholder(n int) []byte {
	p := &placeholders[n]
	p.once.Do(func() {
		var out bytes.Buffer
		if err := png.Encode(&out, draw(float64(n)/storage.Placeholders)); err != nil {
			panic(err) // impossible for a picture of this size
		}
		p.png = out.Bytes()
	})
	return p.png
}

// draw draws a gradient between two hues, with a play button.
func draw(hue float64) image.Image {
	const width, height, half = 270, 480, 36
	picture := image.NewPaletted(image.Rect(0, 0, width, height), nil)
	const shades = 120
	for i := range shades {
		at := float64(i) / shades
		picture.Palette = append(picture.Palette, shade(hue+at/6, 0.55-0.2*at))
	}
	picture.Palette = append(picture.Palette, color.NRGBA{255, 255, 255, 255})
	for y := range height {
		for x := range width {
			dx, dy := x-width/2+half/2, y-height/2
			at := uint8(y * shades / height)
			if dx >= 0 && dx <= 3*half/2 && 3*max(dy, -dy) <= 2*(3*half/2-dx) {
				at = shades
			}
			picture.SetColorIndex(x, y, at)
		}
	}
	return picture
}

// shade returns the colour with the given hue, from 0 to 1, and lightness.
func shade(hue, light float64) color.NRGBA {
	part := func(shift float64) uint8 {
		_, h := math.Modf(hue + shift + 1)
		wave := min(max(math.Abs(h*6-3)-1, 0), 1)
		return uint8(255 * (light + (wave-0.5)*0.5))
	}
	return color.NRGBA{part(0), part(2.0 / 3), part(1.0 / 3), 255}
}
