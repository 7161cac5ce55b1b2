package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
)

// AvatarSize is the width and the height of an avatar, in pixels.
const AvatarSize = 256

// Face describes an avatar. The zero value is a face without hair, hat, glasses and beard.
type Face struct {
	Back, Skin, HairColour, Clothes uint32 // colours 0xrrggbb
	Hair                            Hair
	Hat                             Hat
	HatColour                       uint32
	Glasses                         Glasses
	Beard                           Beard
	Mouth                           Mouth
	Collar                          Collar
	Freckles, Earrings, Blush       bool
}

// Hair is a hair style.
type Hair int

// Hair styles.
const (
	Bald Hair = iota
	Short
	Parted
	Curly
	Bob
	Long
	Bun
	Afro
	Mohawk
	Braids
	Wavy
)

// Hat is what a face wears on the head.
type Hat int

// Hats.
const (
	NoHat Hat = iota
	Beanie
	Cap
	SunHat
	Scarf // covers the hair
	Headphones
)

// Glasses is a kind of glasses.
type Glasses int

// Glasses.
const (
	NoGlasses Glasses = iota
	Round
	Square
	Dark
)

// Beard is a kind of beard.
type Beard int

// Beards.
const (
	NoBeard Beard = iota
	Stubble
	Full
	Moustache
)

// Mouth is an expression.
type Mouth int

// Mouths.
const (
	Smile Mouth = iota
	Grin
	Calm
	Surprised
)

// Collar is how the clothes end.
type Collar int

// Collars.
const (
	Crew Collar = iota
	VNeck
	Shirt
	Turtleneck
	Hood
	Stripes
)

// EncodePNG returns a picture of the face as a PNG file of AvatarSize.
func (a *Face) EncodePNG() ([]byte, error) {
	f := newFrame(AvatarSize, AvatarSize)
	a.draw(f)
	out := image.NewNRGBA(image.Rect(0, 0, f.w, f.h))
	for i, p := range f.p {
		out.SetNRGBA(i%f.w, i/f.w, color.NRGBA{flat(p[0]), flat(p[1]), flat(p[2]), 255})
	}
	var b bytes.Buffer
	err := png.Encode(&b, out)
	return b.Bytes(), err
}

func flat(v float32) byte { return byte(255*clamp(v) + 0.5) }

// The head is an ellipse.
const headX, headY, headW, headH = 0.5, 0.465, 0.185, 0.225

func (a *Face) draw(f *frame) {
	back, hair, clothes := hex(a.Back), hex(a.HairColour), hex(a.Clothes)
	skin := hex(a.Skin)
	shade := skin.times(0.86).mix(hex(0xb0504a), 0.1)
	light := back.mix(rgb{1, 1, 1}, 0.2)
	f.paint(func(x, y float32) rgb { return back.mix(back.times(0.93), step(0.2, 1, y)) })
	f.disc(0.5, 0.5, 0.4, 0.4, 1.5, light)
	if a.Hat != Scarf {
		a.hairBehind(f, hair)
	}
	if a.Hat == Scarf {
		cloth := hex(a.HatColour)
		f.disc(headX, headY+0.02, headW+0.075, headH+0.06, 1.5, cloth)
		f.fill(0.2, 0.5, 0.8, 1, 1.5, cloth, func(x, y float32) float32 { return box(x, y, 0.5, 0.78, 0.21+0.1*(y-0.6), 0.25, 0.12) })
	}
	f.line(0.5, 0.6, 0.5, 0.8, 0.075, 0.085, 1.5, shade) // the neck
	a.body(f, clothes, skin)
	if a.Hat == Scarf {
		f.fill(0.25, 0.6, 0.75, 0.86, 1.5, hex(a.HatColour).times(0.93), func(x, y float32) float32 {
			return (hypot((x-0.5)/0.2, (y-0.7)/0.12) - 1) * 0.12
		})
	} else {
		for _, side := range []float32{-1, 1} { // the ears
			f.disc(headX+side*headW, headY+0.025, 0.034, 0.046, 1.5, skin)
			f.disc(headX+side*(headW+0.002), headY+0.025, 0.018, 0.027, 1.5, shade)
			if a.Earrings {
				f.disc(headX+side*(headW+0.006), headY+0.085, 0.014, 0.014, 1.5, hex(0xf2c14e))
			}
		}
	}
	f.fill(0.28, 0.2, 0.72, 0.72, 1.5, skin, face)
	a.features(f, skin, shade, hair)
	a.beard(f, hair)
	if a.Hat != Scarf {
		a.hairBefore(f, hair)
	}
	a.glasses(f)
	a.hat(f)
}

// face returns the signed distance from the face, which is narrower at the chin.
func face(x, y float32) float32 {
	w := headW - 0.035*step(0.02, headH, y-headY)
	return (hypot((x-headX)/w, (y-headY)/headH) - 1) * w
}

func (a *Face) body(f *frame, clothes, skin rgb) {
	torso := func(x, y float32) float32 {
		return blend(box(x, y, 0.5, 1.02, 0.33, 0.24, 0.16), (hypot((x-0.5)/0.2, (y-0.86)/0.12)-1)*0.12, 0.04)
	}
	f.fill(0.1, 0.7, 0.9, 1, 1.5, clothes, torso)
	dark := clothes.times(0.82)
	switch a.Collar {
	case Crew:
		f.disc(0.5, 0.755, 0.098, 0.06, 1.5, dark)
		f.disc(0.5, 0.745, 0.083, 0.052, 1.5, skin.times(0.93))
	case VNeck:
		f.fill(0.38, 0.7, 0.62, 0.92, 1.5, skin.times(0.95), func(x, y float32) float32 { return max(abs(x-0.5)-0.09+(y-0.74)*0.62, 0.72-y) * 0.85 })
		f.line(0.402, 0.745, 0.5, 0.895, 0.008, 0.008, 1.5, dark)
		f.line(0.598, 0.745, 0.5, 0.895, 0.008, 0.008, 1.5, dark)
	case Shirt:
		f.fill(0.4, 0.72, 0.6, 0.82, 1.5, skin.times(0.95), func(x, y float32) float32 { return max(abs(x-0.5)-0.085+(y-0.73)*1.05, 0.72-y) * 0.7 })
		white := clothes.mix(rgb{1, 1, 1}, 0.35)
		for _, side := range []float32{-1, 1} {
			f.fill(0.36, 0.7, 0.64, 0.86, 1.5, white, func(x, y float32) float32 {
				u := (x - 0.5) * side
				return max(0.085-(y-0.73)*1.05-u, u-0.125, y-0.82, 0.735-y) * 0.7
			})
		}
		for i := range 3 {
			f.disc(0.5, 0.865+0.055*float32(i), 0.008, 0.008, 1.2, dark)
		}
	case Turtleneck:
		f.fill(0.38, 0.66, 0.62, 0.8, 1.5, dark, func(x, y float32) float32 { return box(x, y, 0.5, 0.735, 0.098, 0.055, 0.03) })
		f.line(0.41, 0.735, 0.59, 0.735, 0.004, 0.004, 1.5, clothes)
	case Hood:
		f.disc(0.5, 0.77, 0.17, 0.085, 1.5, dark)
		f.disc(0.5, 0.755, 0.088, 0.058, 1.5, skin.times(0.93))
		for _, side := range []float32{-0.05, 0.05} {
			f.line(0.5+side, 0.83, 0.5+side*1.15, 0.93, 0.007, 0.007, 1.5, rgb{0.96, 0.95, 0.92})
		}
	case Stripes:
		white := clothes.mix(rgb{1, 1, 1}, 0.75)
		for i := range 4 {
			y := 0.85 + 0.06*float32(i)
			f.fill(0.1, 0.7, 0.9, 1, 1.5, white, func(px, py float32) float32 { return max(torso(px, py), abs(py-y)-0.014) })
		}
		f.disc(0.5, 0.755, 0.098, 0.06, 1.5, white)
		f.disc(0.5, 0.745, 0.083, 0.052, 1.5, skin.times(0.93))
	}
}

func (a *Face) features(f *frame, skin, shade, hair rgb) {
	ink := hex(0x2b2230)
	if a.Blush {
		for _, side := range []float32{-0.105, 0.105} {
			f.disc(headX+side, headY+0.075, 0.042, 0.03, 8, skin.mix(hex(0xf06a62), 0.34))
		}
	}
	for _, side := range []float32{-1, 1} {
		x := headX + side*0.073
		f.disc(x, headY+0.008, 0.0155, 0.0205, 1.3, ink)
		f.disc(x+0.005, headY+0.001, 0.0055, 0.0055, 1.2, rgb{1, 1, 1})
		brow := ink.mix(hair.times(0.75), 0.65)
		f.line(x-0.026, headY-0.05-side*0.004, x+0.026, headY-0.05+side*0.004, 0.0075, 0.0075, 1.3, brow)
	}
	if a.Freckles {
		for i := range 8 {
			x := headX + (float32(i%4)-1.5)*0.062
			f.disc(x, headY+0.06+0.016*float32(i/4)+0.006*float32(i%2), 0.005, 0.005, 1.2, shade)
		}
	}
	f.line(headX+0.002, headY+0.03, headX+0.012, headY+0.07, 0.0055, 0.0075, 1.3, shade)
	f.line(headX-0.008, headY+0.078, headX+0.012, headY+0.075, 0.006, 0.0075, 1.3, shade)
	mouthY := float32(headY + 0.128)
	switch a.Mouth {
	case Smile:
		arc(f, headX, mouthY-0.032, 0.062, 0.0075, ink.mix(hex(0x9a2f3a), 0.5))
	case Grin:
		f.fill(0.4, mouthY-0.03, 0.6, mouthY+0.06, 1.3, hex(0x7a2533), func(x, y float32) float32 {
			return max((hypot((x-headX)/0.066, (y-mouthY+0.012)/0.056)-1)*0.056, mouthY-0.012-y)
		})
		f.fill(0.4, mouthY-0.03, 0.6, mouthY+0.02, 1.3, rgb{0.98, 0.97, 0.95}, func(x, y float32) float32 {
			return max((hypot((x-headX)/0.058, (y-mouthY+0.012)/0.05)-1)*0.05, mouthY-0.011-y, y-mouthY-0.006)
		})
	case Calm:
		f.line(headX-0.036, mouthY, headX+0.036, mouthY-0.003, 0.0075, 0.0075, 1.3, ink.mix(hex(0x9a2f3a), 0.5))
	case Surprised:
		f.disc(headX, mouthY+0.004, 0.022, 0.026, 1.3, hex(0x7a2533))
	}
}

// arc draws the lower part of a circle.
func arc(f *frame, cx, cy, r, half float32, c rgb) {
	f.fill(cx-r-0.02, cy, cx+r+0.02, cy+r+0.02, 1.3, c, func(x, y float32) float32 {
		d := abs(hypot(x-cx, y-cy)-r) - half
		edge := r * 0.78
		if abs(x-cx) > edge {
			return hypot(abs(x-cx)-edge, y-cy-r*0.626) - half
		}
		return d
	})
}
