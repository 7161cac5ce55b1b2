package picture

// rain shows drops on a window, and the blurred lights of a city behind it.
func rain(width int) scene {
	random := seeded(41)
	n := newNoise(42, 256, 5, 4)
	type light struct {
		x, y, r, phase float32
		c              rgb
	}
	colours := []rgb{hex(0xffb04a), hex(0xff7a3a), hex(0xff4a3a), hex(0x5ab4ff), hex(0xffd890), hex(0x48d8b0), hex(0xffe8c8)}
	lights := make([]light, 90)
	for i := range lights {
		y := 0.5 + 0.95*sqrt(random.Float32())
		colour := colours[random.IntN(len(colours))]
		if i%3 > 0 {
			colour = colours[i%2*4] // most lights are warm
		}
		lights[i] = light{random.Float32(), y, spread(random, 0.03, 0.06) + 0.05*(y-0.5), random.Float32() * tau, colour.times(spread(random, 0.05, 0.4))}
	}
	base := still(width, func(x, y float32) rgb {
		c := gradient(y/tall, hex(0x0a1322), hex(0x182338), hex(0x2a2b3c), hex(0x14161f))
		return c.plus(hex(0x40506a).times(0.18 * n.at(x*0.6, y*0.3)))
	})
	type drop struct{ x, y, r float32 }
	drops := make([]drop, 520)
	for i := range drops {
		q := random.Float32()
		drops[i] = drop{random.Float32(), random.Float32() * tall, 0.0035 + 0.013*q*q*q}
	}
	type runner struct {
		x, at, r, wind float32
		speed          float32
	}
	runners := make([]runner, 11)
	for i := range runners {
		runners[i] = runner{(float32(i) + random.Float32()) / 11, random.Float32(), spread(random, 0.011, 0.018), random.Float32() * 9, float32(1 + i%2)}
	}
	behind := newFrame(width, base.h)
	return func(f *frame, t float32) {
		copy(behind.p, base.p)
		for _, l := range lights {
			behind.bokeh(l.x, l.y, l.r, l.c.times(0.85+0.15*sin(2*tau*t+l.phase)))
		}
		for i := range 4 { // cars pass below
			x := fraction(t+float32(i)*0.27)*1.4 - 0.2
			c := hex(0xfff0d0)
			if i%2 == 1 {
				x, c = 1-x, hex(0xff3020)
			}
			behind.bokeh(x, 1.36+0.06*float32(i), 0.05, c.times(0.5))
			behind.bokeh(x+0.09, 1.36+0.06*float32(i), 0.05, c.times(0.45))
		}
		copy(f.p, behind.p)
		for i := range f.p { // the glass is misted
			x, y := float32(i%f.w)/float32(f.w), float32(i/f.w)/float32(f.w)
			f.p[i] = f.p[i].mix(hex(0x6a7488), 0.05+0.14*n.at(x*0.5+0.3, y*0.5))
		}
		lens := func(x, y, r, long float32) {
			f.within(x-r, y-r*long, x+r, y+r*long, func(p *rgb, px, py float32) {
				dx, dy := (px-x)/r, (py-y)/(r*long)
				d := dx*dx + dy*dy
				if d >= 1 {
					return
				}
				// A drop shows the scene upside down.
				c := behind.sample(clamp(x-dx*0.16), clampTo(y+0.1-dy*0.3, 0, tall-0.01)).times(1.25)
				c = c.times(1 - 0.6*d*d).plus(rgb{0.75, 0.8, 0.9}.times(0.55*step(0.16, 0, (dx+0.35)*(dx+0.35)+(dy+0.45)*(dy+0.45)) + 0.14*step(0.5, 1, dy)*d))
				*p = p.mix(c, step(1, 0.8, d))
			})
		}
		for _, d := range drops {
			lens(d.x, d.y, d.r, 1.12)
		}
		for _, r := range runners {
			at := fraction(r.at + t*r.speed)
			// A drop rests, then runs on.
			y := (at+0.035*sin(at*tau*4))*(tall+0.5) - 0.2
			for k := range 26 {
				ty := y - 0.014*float32(k+1)
				tx := r.x + 0.02*n.at(r.wind, ty*0.6)
				if tail := r.r * (0.62 - 0.018*float32(k)); tail > 0.002 && (k*7+int(r.wind*10))%3 > 0 {
					lens(tx, ty, tail*(0.6+0.4*n.at(r.wind, ty*7)), 1.5)
				}
			}
			lens(r.x+0.02*n.at(r.wind, y*0.6), y, r.r, 1.35)
		}
	}
}

// train shows the view from a train: hills, fields, trees and poles pass by.
func train(width int) scene {
	n := newNoise(51, 256, 5, 5)
	peaks, far, mid, wood := newRidge(52, 6, 5, 0.05, 0.34), newRidge(53, 4, 4, 0, 0.17), newRidge(54, 4, 4, 0, 0.12), newRidge(55, 24, 4, 0.0, 0.13)
	back := still(width, func(x, y float32) rgb {
		c := gradient(y/1.1, hex(0x5e8fc4), hex(0x9fc0d8), hex(0xf3dcb6), hex(0xf9d9a0))
		d := hypot(x-0.25, y-0.72)
		return c.plus(hex(0xffe9b8).times(0.55 * exp(-d*d*14)))
	})
	// The window: a frame with round corners, a table below, and faint reflections.
	glass := newOverlay(back, func(x, y float32) (rgb, float32) {
		d := box(x, y, 0.5, 0.83, 0.44, 0.67, 0.1)
		if d < 0 {
			shine := step(0.06, 0, abs(fraction(x*0.6+y*0.35)-0.55)) * 0.06
			return hex(0xfff6e6).times(0.7), shine + 0.25*step(-0.03, 0, d)
		}
		c := hex(0x6c6a66).mix(hex(0x3a3a3c), step(0, 0.06, d))
		c = c.mix(hex(0xd9b88a), 0.35*step(0.02, 0.004, d)*step(0.4, 1.5, y))
		if y > 1.56 {
			c = hex(0x8a6a4a).mix(hex(0x4c3a2b), (y-1.56)*4).plus(hex(0xffe0b0).times(0.18 * exp(-(y-1.56)*22)))
		}
		return c, clamp(d*back.wide() + 0.5)
	})
	random := seeded(56)
	speck := make([][3]float32, 40)
	for i := range speck {
		speck[i] = [3]float32{random.Float32(), spread(random, 0.25, 1.5), spread(random, 0.001, 0.003)}
	}
	return func(f *frame, t float32) {
		copy(f.p, back.p)
		f.within(0, 0.1, 1, 0.9, func(p *rgb, x, y float32) {
			cloud := step(0.52, 0.85, n.at(x*0.4+0.06*t, y*1.2)) * step(0.95, 0.4, y)
			*p = p.mix(hex(0xfff4e4), cloud*0.7)
		})
		f.hills(peaks, 0.1+0.03*t, 0.32, 1.02, 0.35, hex(0x8ea6bd), hex(0xc4cdcd))
		f.hills(far, 0.1*t, 0.4, 1.04, 0.25, hex(0x7d9a86), hex(0xa8b98c))
		f.hills(mid, 0.32*t+0.3, 0.4, 1.08, 0.3, hex(0x55793f), hex(0x93a24c))
		f.hills(wood, 0.7*t, 0.45, 1.13, 0.12, hex(0x2f4d2c), hex(0x4f6a33))
		// The field nearby is blurred by the speed.
		f.within(0, 1.12, 1, tall, func(p *rgb, x, y float32) {
			near := (y - 1.12) / (tall - 1.12)
			v := n.at((x*0.12)/(0.3+near)+t*(2+2*near), y*3.2)
			row := n.at(t*0.5+x*0.02, y*9)
			c := hex(0x6f8a38).mix(hex(0xb9a84e), v).mix(hex(0x3e5a26), 0.5*row*near)
			*p = p.mix(c, step(1.12, 1.15, y))
		})
		for i := range 3 { // bushes close to the track
			x := 2.4 - fraction(t*3+float32(i)*0.34)*3.6
			r := 0.14 + 0.06*n.at(float32(i)*0.3, 0.1)
			f.disc(x, 1.56, r*1.7, r, 26, hex(0x24401f))
			f.disc(x+0.12, 1.6, r*1.4, r*0.8, 26, hex(0x2f4f26))
		}
		pole := 1.6 - fraction(t*4)*2.6
		f.line(pole, 0.25, pole, 1.7, 0.012, 0.012, 16, hex(0x4a4038))
		for k := range 2 { // the wires hang from pole to pole
			f.within(0, 0.2, 1, 0.62, func(p *rgb, x, y float32) {
				s := fraction((x-pole)/2.6) - 0.5
				wire := 0.34 + 0.09*float32(k) + 0.16*(0.25-s*s)
				*p = p.mix(hex(0x40444a), 0.7*clamp(1.4-abs(y-wire)*f.wide()*0.9))
			})
		}
		f.cover(glass)
		for _, s := range speck {
			f.glow(s[0], s[1], s[2]*2, rgb{1, 0.97, 0.9}.times(0.16))
		}
		// A paper cup trembles on the table.
		x, y := float32(0.73), 1.5+0.002*sin(t*tau*23)
		f.fill(x-0.1, y-0.14, x+0.1, y+0.2, 1.5, hex(0xe9e0d2), func(px, py float32) float32 { return max(abs(px-x)-0.072+(py-y)*0.14, abs(py-y)-0.1) })
		f.fill(x-0.1, y-0.06, x+0.1, y+0.06, 1.5, hex(0x9a5c38), func(px, py float32) float32 { return max(abs(px-x)-0.074+(py-y)*0.14, abs(py-y-0.005)-0.042) })
		f.fill(x-0.1, y-0.14, x+0.1, y-0.05, 1.5, hex(0x3c3330), func(px, py float32) float32 { return box(px, py, x, y-0.1, 0.086, 0.014, 0.01) })
	}
}

// wide is the number of pixels in a unit.
func (f *frame) wide() float32 { return float32(f.w) }

// cat shows a cat at a window, while it grows dark outside.
func cat(width int) scene {
	random := seeded(61)
	n := newNoise(62, 256, 4, 5)
	hills := newRidge(63, 5, 4, 0, 0.1)
	type flake struct{ x, y, size, phase float32 }
	flakes := make([]flake, 150)
	for i := range flakes {
		flakes[i] = flake{random.Float32(), random.Float32(), spread(random, 0.002, 0.006), random.Float32() * tau}
	}
	type lamp struct{ x, y, r, phase float32 }
	lamps := make([]lamp, 26)
	for i := range lamps {
		lamps[i] = lamp{random.Float32(), spread(random, 0.98, 1.2), spread(random, 0.008, 0.026), random.Float32()}
	}
	const sill = 1.28
	back := still(width, func(x, y float32) rgb {
		c := gradient(y/1.1, hex(0x28335e), hex(0x4a4a7c), hex(0x9a6a88), hex(0xe8a07a))
		cloud := step(0.45, 0.8, n.at(x*0.35, y*0.9))
		return c.mix(hex(0x3a3a66), cloud*0.5)
	})
	back.hills(hills, 0.2, 0.6, 1.08, 0.2, hex(0x3a3350), hex(0x241f36))
	dark := hex(0x0d0b14)
	// The frame of the window, the sill and the curtains.
	room := newOverlay(back, func(x, y float32) (c rgb, opaque float32) {
		lay := func(colour rgb, a float32) {
			c, opaque = c.mix(colour, a), max(opaque, a)
		}
		bar := min(abs(x-0.5)-0.014, abs(y-0.52)-0.012)
		c = hex(0x1a1520)
		opaque = clamp(0.5 - min(bar, -box(x, y, 0.5, 0.62, 0.4, sill-0.62, 0.004))*back.wide())
		if y > sill {
			wood := hex(0x3a2a2a).mix(hex(0x120d12), (y-sill)*4).plus(hex(0xe8a07a).times(0.3 * exp(-(y-sill)*30)))
			lay(wood, clamp((y-sill)*back.wide()))
		}
		for _, side := range []float32{x, 1 - x} {
			if edge := 0.15 + 0.05*y; side < edge && y < 1.5 {
				fold := 0.5 + 0.5*sin(side*95+sin(y*3)*0.8)
				cloth := hex(0x2a1c2c).mix(hex(0x6a4250), fold*0.6).plus(hex(0xffb080).times(0.1 * step(0.3, 1, side/edge) * fold))
				lay(cloth, clamp((edge-side)*back.wide()*0.7))
			}
		}
		return c, opaque
	})
	return func(f *frame, t float32) {
		copy(f.p, back.p)
		for _, l := range lamps {
			f.bokeh(l.x, l.y, l.r, hex(0xffb45a).times(0.45*step(0.1, 0.25, fraction(l.phase+0.15*sin(tau*t)))))
		}
		for _, s := range flakes {
			f.glow(fraction(s.x+0.03*sin(tau*t+s.phase)), fraction(s.y+t)*1.3, s.size*1.5, rgb{0.9, 0.92, 1}.times(0.5))
		}
		f.cover(room)
		// The cat: body, head, ears, tail.
		breath := 0.004 * sin(2*tau*t)
		const cx = 0.62
		f.fill(cx-0.22, sill-0.42, cx+0.22, sill+0.03, 2, dark, func(x, y float32) float32 {
			body := (hypot((x-cx)/(0.115+breath), (y-sill+0.12)/(0.17+breath)) - 1) * 0.115
			chest := (hypot((x-cx+0.03)/0.078, (y-sill+0.22)/0.12) - 1) * 0.078
			return max(blend(body, chest, 0.04), y-sill-0.012)
		})
		turn := 0.012 * sin(tau*t)
		hx, hy := cx-0.045+turn, float32(sill)-0.375
		f.disc(hx, hy, 0.068, 0.058, 2, dark)
		twitch := 0.012 * step(0.9, 1, sin(3*tau*t))
		for _, side := range []float32{-1, 1} {
			ex := hx + side*0.043
			tipX, tipY := ex+side*(0.014+twitch), hy-0.1
			f.fill(ex-0.07, tipY, ex+0.07, hy+0.01, 2, dark, func(x, y float32) float32 {
				k := (y - tipY) / (hy - tipY)
				return max(abs(x-(tipX+(ex-tipX)*k))-0.03*k, tipY-y) * 0.9
			})
		}
		for k := range 22 { // the tail hangs over the sill and sways
			s := float32(k) / 21
			sway := 0.05 * s * s * sin(2*tau*t-s*1.5)
			x, y := cx+0.09+0.09*sin(s*2.2)+sway, sill-0.02+0.27*s
			f.disc(x, y, 0.02-0.004*s, 0.02-0.004*s, 2, dark)
		}
		f.within(cx-0.2, sill-0.5, cx+0.2, sill, func(p *rgb, x, y float32) { // light along the edge
			d := hypot((x-hx)/0.068, (y-hy)/0.058)
			*p = p.plus(hex(0xff9a70).times(0.25 * step(0.06, 0, abs(d-1)) * step(hx, hx-0.06, x)))
		})
		// A plant beside it.
		f.fill(0.24, sill-0.12, 0.42, sill+0.02, 2, hex(0x151018), func(x, y float32) float32 { return max(abs(x-0.33)-0.05+(y-sill)*-0.12-0.0, abs(y-sill+0.045)-0.05) })
		for k := range 9 {
			a := (float32(k)-4)*0.27 + 0.03*sin(tau*t+float32(k))
			f.line(0.33, sill-0.09, 0.33+0.2*sin(a), sill-0.09-0.22*cos(a)+0.1*a*a, 0.013, 0.003, 2, hex(0x121a16))
		}
	}
}

// blend returns the distance from two shapes that flow into each other.
func blend(a, b, k float32) float32 {
	h := clamp(0.5 + 0.5*(b-a)/k)
	return b + (a-b)*h - k*h*(1-h)
}
