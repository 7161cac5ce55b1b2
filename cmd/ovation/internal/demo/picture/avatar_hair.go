package picture

// scalp returns the signed distance from the hair on the upper part of the head: pad is its
// thickness, and low the position of its lower edge on the forehead.
func scalp(x, y, pad, low float32) float32 {
	return max((hypot((x-headX)/(headW+pad), (y-headY+0.01)/(headH+pad))-1)*headW, y-low)
}

// hairBehind draws the hair that is behind the head.
func (a *Face) hairBehind(f *frame, hair rgb) {
	dark := hair.times(0.85)
	switch a.Hair {
	case Long, Wavy:
		f.fill(0.15, 0.15, 0.85, 0.95, 1.5, dark, func(x, y float32) float32 {
			wave := float32(0)
			if a.Hair == Wavy {
				wave = 0.014 * sin(y*42)
			}
			return blend((hypot((x-0.5)/0.235, (y-0.43)/0.255)-1)*0.235, box(x, y, 0.5, 0.6, 0.232+wave, 0.24, 0.1), 0.05)
		})
	case Bob:
		f.fill(0.15, 0.15, 0.85, 0.8, 1.5, dark, func(x, y float32) float32 {
			return blend((hypot((x-0.5)/0.24, (y-0.43)/0.255)-1)*0.24, box(x, y, 0.5, 0.52, 0.245, 0.13, 0.08), 0.05)
		})
	case Afro:
		for i := range 16 {
			angle := tau * float32(i) / 16
			f.disc(0.5+0.185*cos(angle), 0.37+0.165*sin(angle), 0.092, 0.092, 1.5, hair)
		}
		f.disc(0.5, 0.38, 0.2, 0.19, 1.5, hair)
	case Bun:
		f.disc(0.5, 0.165, 0.085, 0.075, 1.5, dark)
	case Braids:
		for _, side := range []float32{-1, 1} {
			for i := range 6 {
				f.disc(0.5+side*(0.205+0.008*float32(i%2)), 0.52+0.062*float32(i), 0.042-0.003*float32(i), 0.04, 1.5, hair.times(0.84+0.12*float32(i%2)))
			}
			f.disc(0.5+side*0.207, 0.868, 0.022, 0.018, 1.5, hex(0xe4572e))
		}
	case Curly:
		for i := range 12 {
			angle := tau*float32(i)/12 + 0.2
			f.disc(0.5+0.17*cos(angle), 0.42+0.17*sin(angle), 0.068, 0.068, 1.5, dark)
		}
	case Bald, Short, Parted, Mohawk:
	}
}

// hairBefore draws the hair over the forehead.
func (a *Face) hairBefore(f *frame, hair rgb) {
	shine := hair.mix(rgb{1, 1, 1}, 0.12)
	front := func(c rgb, distance func(x, y float32) float32) { f.fill(0.15, 0.1, 0.85, 0.7, 1.5, c, distance) }
	switch a.Hair {
	case Short:
		front(hair, func(x, y float32) float32 {
			return max(scalp(x, y, 0.018, 0.47), -(hypot((x-0.5)/0.158, (y-0.49)/0.16)-1)*0.158)
		})
	case Parted:
		front(hair, func(x, y float32) float32 {
			u := x - 0.4
			line := 0.31 + 0.55*u*u + 0.24*max(-u, 0) + 0.09*max(u, 0)
			return max(scalp(x, y, 0.03, 0.5), min(y-line, 0.05-max(abs(x-0.5)-0.135, 0)*3))
		})
		f.line(0.4, 0.225, 0.43, 0.305, 0.004, 0.004, 1.3, hair.times(0.75))
	case Curly:
		for i := range 9 {
			angle := tau/2 + tau/2*float32(i)/8
			f.disc(0.5+0.165*cos(angle), 0.375+0.125*sin(angle), 0.06, 0.056, 1.5, []rgb{hair, shine}[i%2])
		}
		for i := range 5 {
			f.disc(0.4+0.05*float32(i), 0.285, 0.05, 0.045, 1.5, []rgb{shine, hair}[i%2])
		}
	case Bob:
		front(hair, func(x, y float32) float32 {
			return max(scalp(x, y, 0.04, 0.6), min(y-0.375, 0.16-abs(x-0.5)))
		})
	case Long, Braids:
		front(hair, func(x, y float32) float32 {
			return max(scalp(x, y, 0.035, 0.52), -(hypot((x-0.5)/0.165, (y-0.53)/0.225)-1)*0.165)
		})
		f.line(0.5, 0.225, 0.5, 0.305, 0.003, 0.003, 1.3, hair.times(0.78))
	case Wavy:
		front(hair, func(x, y float32) float32 {
			u := x - 0.62
			return max(scalp(x, y, 0.04, 0.56), -(hypot((x-0.53)/0.185, (y-0.55-0.2*u)/0.235)-1)*0.185)
		})
	case Bun:
		front(hair, func(x, y float32) float32 {
			return max(scalp(x, y, 0.014, 0.48), -(hypot((x-0.5)/0.168, (y-0.53)/0.22)-1)*0.168)
		})
	case Afro:
		front(hair, func(x, y float32) float32 {
			return max(scalp(x, y, 0.03, 0.42), -(hypot((x-0.5)/0.165, (y-0.5)/0.165)-1)*0.165)
		})
	case Mohawk:
		for i := range 7 {
			s := float32(i) / 6
			f.disc(0.5+0.02*(s-0.5), 0.17+0.13*s, 0.045+0.012*s, 0.07, 1.5, []rgb{hair, shine}[i%2])
		}
		front(hair.mix(hex(a.Skin), 0.55), func(x, y float32) float32 {
			return max(scalp(x, y, 0.004, 0.42), -(hypot((x-0.5)/0.168, (y-0.5)/0.175)-1)*0.168, 0.06-abs(x-0.5))
		})
	case Bald:
		f.disc(0.44, 0.3, 0.03, 0.018, 5, hex(a.Skin).mix(rgb{1, 1, 1}, 0.35))
	}
}

func (a *Face) beard(f *frame, hair rgb) {
	mouthY := float32(headY + 0.128)
	skin := hex(a.Skin)
	lower := func(x, y float32) float32 {
		return max(face(x, y)-0.012, -(hypot((x-0.5)/0.165, (y-0.43)/0.13)-1)*0.13)
	}
	lips := func(x, y float32) float32 { return (hypot((x-0.5)/0.062, (y-mouthY-0.004)/0.032) - 1) * 0.032 }
	switch a.Beard {
	case Full:
		f.fill(0.25, 0.4, 0.75, 0.75, 1.5, hair, func(x, y float32) float32 { return max(lower(x, y), -lips(x, y)) })
	case Stubble:
		f.fill(0.25, 0.4, 0.75, 0.75, 3, skin.mix(hair, 0.28), func(x, y float32) float32 { return max(lower(x, y)+0.012, -lips(x, y)) })
	case Moustache:
		for _, side := range []float32{-1, 1} {
			f.line(0.5+side*0.012, mouthY-0.03, 0.5+side*0.066, mouthY-0.016, 0.016, 0.006, 1.3, hair)
		}
	case NoBeard:
	}
}

func (a *Face) glasses(f *frame) {
	ink := hex(0x2b2230)
	for _, side := range []float32{-1, 1} {
		x, y := headX+side*0.076, float32(headY+0.01)
		rim := func(px, py float32) float32 { return hypot(px-x, py-y) - 0.054 }
		if a.Glasses == Square || a.Glasses == Dark {
			rim = func(px, py float32) float32 { return box(px, py, x, y, 0.06, 0.043, 0.018) }
		}
		switch a.Glasses {
		case Round, Square:
			f.fill(x-0.08, y-0.08, x+0.08, y+0.08, 1.3, ink, func(px, py float32) float32 { return abs(rim(px, py)) - 0.006 })
		case Dark:
			f.fill(x-0.08, y-0.08, x+0.08, y+0.08, 1.3, ink, rim)
			f.line(x-0.03, y+0.012, x-0.005, y-0.022, 0.005, 0.005, 1.3, hex(0x6a6a88))
		case NoGlasses:
			return
		}
		f.line(x+side*0.055, y-0.006, headX+side*headW, y-0.008, 0.005, 0.005, 1.3, ink)
	}
	f.line(headX-0.022, headY+0.002, headX+0.022, headY+0.002, 0.0055, 0.0055, 1.3, ink)
}

func (a *Face) hat(f *frame) {
	c := hex(a.HatColour)
	dark := c.times(0.82)
	switch a.Hat {
	case Beanie:
		f.disc(0.5, 0.155, 0.042, 0.042, 1.5, c.mix(rgb{1, 1, 1}, 0.5))
		f.fill(0.2, 0.1, 0.8, 0.4, 1.5, c, func(x, y float32) float32 { return max((hypot((x-0.5)/0.215, (y-0.37)/0.2)-1)*0.2, y-0.37) })
		f.fill(0.2, 0.3, 0.8, 0.42, 1.5, dark, func(x, y float32) float32 { return box(x, y, 0.5, 0.352, 0.222, 0.04, 0.035) })
		for i := range 9 {
			x := 0.3 + 0.05*float32(i)
			f.line(x, 0.328, x, 0.378, 0.003, 0.003, 1.3, c)
		}
	case Cap:
		f.fill(0.2, 0.1, 0.8, 0.45, 1.5, c, func(x, y float32) float32 { return max((hypot((x-0.5)/0.21, (y-0.36)/0.18)-1)*0.18, y-0.365) })
		f.fill(0.3, 0.3, 0.85, 0.45, 1.5, dark, func(x, y float32) float32 { return max((hypot((x-0.57)/0.2, (y-0.372)/0.045)-1)*0.045, 0.345-y) })
		f.disc(0.5, 0.18, 0.016, 0.012, 1.5, dark)
		f.disc(0.5, 0.28, 0.036, 0.036, 1.5, c.mix(rgb{1, 1, 1}, 0.65))
	case SunHat:
		f.disc(0.5, 0.345, 0.34, 0.062, 1.5, dark)
		f.fill(0.2, 0.1, 0.8, 0.4, 1.5, c, func(x, y float32) float32 { return max((hypot((x-0.5)/0.195, (y-0.335)/0.19)-1)*0.19, y-0.35) })
		f.fill(0.25, 0.28, 0.75, 0.37, 1.5, hex(a.Clothes), func(x, y float32) float32 {
			return max((hypot((x-0.5)/0.197, (y-0.335)/0.19)-1)*0.19, abs(y-0.317)-0.028)
		})
	case Scarf:
		f.fill(0.2, 0.15, 0.8, 0.72, 1.5, c, func(x, y float32) float32 {
			return max((hypot((x-0.5)/0.232, (y-0.45)/0.265)-1)*0.232, -(hypot((x-0.5)/0.165, (y-0.485)/0.215)-1)*0.165)
		})
	case Headphones:
		f.fill(0.2, 0.1, 0.8, 0.5, 1.5, dark, func(x, y float32) float32 { return max(abs(hypot(x-0.5, (y-0.44)*0.93)-0.225)-0.016, y-0.47) })
		for _, side := range []float32{-1, 1} {
			f.fill(0.2, 0.35, 0.8, 0.62, 1.5, c, func(x, y float32) float32 { return box(x, y, 0.5+side*0.212, 0.49, 0.036, 0.07, 0.03) })
		}
	case NoHat:
	}
}
