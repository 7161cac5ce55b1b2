package picture

import "math/rand/v2"

// stars shows a night in seconds: the sky turns above a ridge with a lit tent.
func stars(width int) scene {
	const poleX, poleY = 0.62, 0.5
	n := newNoise(11, 256, 4, 5)
	far, near := newRidge(12, 4, 5, 0.05, 0.36), newRidge(13, 3, 6, 0.05, 0.2)
	random := seeded(14)
	type star struct{ angle, r, size, light, warm, twinkle float32 }
	all := make([]star, 1900)
	for i := range all {
		l := random.Float32()
		all[i] = star{random.Float32() * tau, 1.5 * sqrt(random.Float32()), 0.0035 + 0.0045*l*l*l, 0.2 + 1.5*l*l*l*l, random.Float32(), random.Float32() * tau}
	}
	back := still(width, func(_, y float32) rgb {
		return gradient(y/1.5, hex(0x060a1c), hex(0x101a3c), hex(0x26345c), hex(0x6a5a70))
	})
	return func(f *frame, t float32) {
		turn := t * 0.42
		c0, s0 := cos(turn), sin(turn)
		for y := range f.h {
			for x := range f.w {
				i := y*f.w + x
				px, py := float32(x)/float32(f.w)-poleX, float32(y)/float32(f.w)-poleY
				rx, ry := px*c0+py*s0, py*c0-px*s0
				across := rx*0.8 + ry*0.6 - 0.12 // the Milky Way is a band through the sky
				band := exp(-across * across * 22)
				dust := n.at(rx*0.6+0.2, ry*0.6)
				f.p[i] = back.p[i].plus(hex(0x8f9fd8).mix(hex(0xe0b8a8), dust).times(band * (0.05 + 0.38*dust*dust)))
			}
		}
		for _, s := range all {
			x, y := poleX+s.r*cos(s.angle+turn), poleY+s.r*sin(s.angle+turn)
			if x < 0 || x > 1 || y < 0 || y > 1.5 {
				continue
			}
			light := s.light * (0.8 + 0.2*sin(s.twinkle+60*t)) * step(1.5, 1.05, y)
			f.glow(x, y, s.size, hex(0xcfe0ff).mix(hex(0xffe2c0), s.warm).times(light))
		}
		if d := (t - 0.55) / 0.05; d > 0 && d < 1 { // a shooting star
			x, y := 0.15+0.42*d, 0.2+0.16*d
			f.line(x-0.14*d, y-0.053*d, x, y, 0.0004, 0.0022, 2, rgb{1.3, 1.35, 1.5})
		}
		f.hills(far, 0.2, 0.55, 1.52, 0.4, hex(0x1a2036), hex(0x0c1020))
		f.hills(near, 0.4, 0.5, 1.66, 0.3, hex(0x0a0d18), hex(0x05060c))
		light := 0.75 + 0.1*sin(9*tau*t)
		f.glow(0.3, 1.58, 0.26, hex(0xff9a3c).times(0.3*light))
		f.fill(0.2, 1.48, 0.4, 1.62, 1.5, hex(0xff9c40).times(0.95*light), func(x, y float32) float32 { return tent(x, y, 0.3, 1.5) })
		f.line(0.3, 1.5, 0.3, 1.61, 0.0015, 0.0015, 1.5, hex(0x7a3a10))
		f.line(0.3, 1.5, 0.225, 1.61, 0.002, 0.002, 1.5, hex(0xb05a1a))
		f.line(0.3, 1.5, 0.375, 1.61, 0.002, 0.002, 1.5, hex(0xb05a1a))
	}
}

func tent(x, y, cx, top float32) float32 { return max(abs(x-cx)-(y-top)*0.68, y-top-0.11) * 0.8 }

// snow shows snowfall under a street lamp.
func snow(width int) scene {
	const lampX, lampY, ground = 0.6, 0.5, 1.5
	n := newNoise(21, 256, 5, 4)
	random := seeded(22)
	type flake struct{ x, y, size, sway, phase, speed, depth float32 }
	all := make([]flake, 420)
	for i := range all {
		d := random.Float32()
		all[i] = flake{random.Float32(), random.Float32(), 0.0025 + 0.006*d*d, spread(random, 0.01, 0.03), random.Float32() * tau, float32(1 + int(2.4*d)), d}
	}
	lamp := func(x, y float32) float32 { // how much light of the lamp is at a place
		dx, dy := x-lampX, y-lampY
		d := hypot(dx, dy)
		cone := step(-0.15, 0.25, dy) * exp(-dx*dx/(0.02+max(dy, 0)*max(dy, 0)*0.22))
		return cone*0.55*exp(-d*0.8) + 0.5*exp(-d*d*26)
	}
	back := still(width, func(x, y float32) rgb {
		c := gradient(y/tall, hex(0x0b1428), hex(0x182542), hex(0x2b3556))
		return c.mix(hex(0x3a4260), 0.25*n.at(x*0.4, y*0.4))
	})
	roofs := newRidge(24, 6, 1, 0.12, 0.5)
	for i := range 8 { // houses, with a few lit windows
		x, top := float32(i)*0.15-0.06, ground-0.28-roofs.at(float32(i)*0.13)
		back.fill(x, top, x+0.14, ground, 2, hex(0x10182b), func(px, py float32) float32 { return box(px, py, x+0.065, ground-0.1, 0.065, ground-0.1-top, 0.004) })
		for range 5 {
			wx, wy := x+0.02+0.03*float32(random.IntN(4)), top+0.05+0.07*float32(random.IntN(4))
			if wy < ground-0.1 {
				back.fill(wx, wy, wx+0.02, wy+0.03, 2, hex(0xd08a3a).times(spread(random, 0.4, 0.9)), func(px, py float32) float32 { return box(px, py, wx+0.008, wy+0.013, 0.007, 0.011, 0.001) })
			}
		}
	}
	back.within(0, ground-0.05, 1, tall, func(p *rgb, x, y float32) { // the snow on the ground
		edge := ground + 0.03*(n.at(x*0.7, 0.3)-0.5)
		c := hex(0x35415f).mix(hex(0x56607c), n.at(x*1.3, y*4)*0.6).mix(hex(0xffd9a0), 0.75*exp(-((x-lampX)*(x-lampX)*7+(y-ground-0.1)*(y-ground-0.1)*45)))
		*p = p.mix(c, clamp((y-edge)*90))
	})
	for i := range back.p {
		x, y := (float32(i%width)+0.5)/float32(width), float32(i/width)/float32(width)
		back.p[i] = back.p[i].plus(hex(0xffb860).times(0.5 * lamp(x, y)))
	}
	dark := hex(0x05080f)
	back.line(lampX, lampY+0.02, lampX, ground+0.08, 0.009, 0.013, 2, dark) // the lamp
	back.line(lampX, ground+0.04, lampX, ground+0.09, 0.018, 0.022, 2, dark)
	back.fill(lampX-0.08, lampY-0.1, lampX+0.08, lampY+0.05, 1.5, dark, func(x, y float32) float32 {
		return max(abs(x-lampX)-0.03-(y-lampY+0.05)*0.55, abs(y-lampY+0.045)-0.016)
	})
	back.disc(lampX, lampY-0.005, 0.03, 0.028, 2, rgb{1.9, 1.6, 1.1})
	for _, leg := range []float32{0.14, 0.36} { // the bench, with snow on it
		back.line(leg, ground-0.03, leg, ground+0.07, 0.007, 0.007, 2, dark)
	}
	back.line(0.1, ground-0.03, 0.4, ground-0.03, 0.011, 0.011, 2, dark)
	back.line(0.1, ground-0.12, 0.4, ground-0.12, 0.016, 0.016, 2, dark)
	back.line(0.1, ground-0.045, 0.4, ground-0.045, 0.008, 0.008, 2, hex(0x9aa4ba))
	back.line(0.1, ground-0.138, 0.4, ground-0.138, 0.008, 0.008, 2, hex(0x9aa4ba))
	return func(f *frame, t float32) {
		copy(f.p, back.p)
		f.glow(lampX, lampY, 0.2, hex(0xffc070).times(0.35+0.02*sin(5*tau*t)))
		for _, s := range all {
			y := fraction(s.y+t*s.speed) * (tall + 0.1)
			x := fraction(s.x+s.sway*sin(tau*(t*s.speed)+s.phase+y*3)) * 1.04
			light := 0.16 + 0.25*s.depth + 2.2*lamp(x, y)
			f.glow(x, y, s.size*1.6, hex(0xdfe6f5).mix(hex(0xffe0b0), clamp(2*lamp(x, y))).times(min(light, 1.3)))
		}
	}
}

// traffic shows the lights of cars on a road at night, in a time-lapse.
func traffic(width int) scene {
	const horizon = 0.78
	random := seeded(31)
	n := newNoise(32, 256, 6, 3)
	back := still(width, func(x, y float32) rgb {
		if y < horizon {
			return gradient(y/horizon, hex(0x0a1026), hex(0x1c2145), hex(0x543a5e), hex(0xb0603f))
		}
		near := (y - horizon) / (tall - horizon)
		c := hex(0x1a1720).mix(hex(0x0c0d14), near)
		return c.plus(hex(0x805030).times(0.25 * (1 - near) * n.at(x*0.8, y*5)))
	})
	windows := skyline(back, random, horizon)
	// A lane is a curve from the viewer to the horizon; q goes from 0 (near) to 1 (far).
	road := func(q, lane float32) (x, y, scale float32) {
		z := 1 + 11*q*q
		scale = 1 / z
		return 0.56 + lane*scale*0.9 - 0.12*q + 0.16*sin(q*2.6)*q - 0.1*scale, horizon + (tall-horizon+0.12)*(scale-0.083)*1.09, scale
	}
	for _, edge := range []float32{-0.62, 0, 0.62} {
		for q := float32(0); q < 0.98; q += 0.004 {
			x, y, s := road(q, edge)
			if edge != 0 || int(q*60)%2 == 0 {
				back.glow(x, y, 0.012*s+0.002, hex(0x9a8a70).times(0.12))
			}
		}
	}
	for q := float32(0.02); q < 0.95; q += 0.07 { // street lamps
		for _, side := range []float32{-0.8, 0.8} {
			x, y, s := road(q, side)
			back.line(x, y, x, y-0.62*s, 0.006*s, 0.004*s, 1.2, hex(0x08080c))
			back.glow(x, y-0.62*s, 0.2*s+0.01, hex(0xffa050).times(0.55))
			back.glow(x, y-0.62*s, 0.035*s+0.004, rgb{1.3, 1, 0.6})
		}
	}
	cars := make([]car, 54)
	for i := range cars {
		lane := []float32{-0.46, -0.2, 0.2, 0.46}[random.IntN(4)] + spread(random, -0.03, 0.03)
		cars[i] = car{lane, random.Float32(), spread(random, 0.04, 0.13), float32(1 + random.IntN(2)), spread(random, 0.5, 1)}
	}
	return func(f *frame, t float32) {
		copy(f.p, back.p)
		for _, w := range windows {
			on := step(0.1, 0.2, fraction(w.phase+t*0.3))
			f.within(w.x, w.y, w.x+0.006, w.y+0.007, func(p *rgb, _, _ float32) { *p = p.mix(hex(0xffc47a), w.light*on*0.8) })
		}
		for _, c := range cars {
			c.drive(f, road, t)
		}
	}
}

// window is a lit window of a house far away.
type window struct{ x, y, phase, light float32 }

// skyline draws houses in front of the horizon, and returns their lit windows.
func skyline(back *frame, random *rand.Rand, horizon float32) (out []window) {
	for layer := range 2 {
		for i := range 13 {
			w := spread(random, 0.035, 0.06)
			x, top := float32(i)*0.085-0.03, horizon-spread(random, 0.1, 0.42)*(1-0.35*float32(layer))
			colour := hex(0x2c2340).mix(hex(0x120f1e), float32(layer))
			back.fill(x-0.01, top-0.01, x+2*w, horizon+0.02, 1.2, colour, func(px, py float32) float32 {
				return box(px, py, x+w/2+0.01, (top+horizon)/2+0.02, w*0.62, (horizon-top)/2+0.02, 0.002)
			})
			for wy := top + 0.02; wy < horizon-0.03; wy += 0.018 {
				for wx := x + 0.002; wx < x+w; wx += 0.014 {
					if random.Float32() < 0.33 {
						out = append(out, window{wx, wy, random.Float32(), spread(random, 0.25, 0.9)})
					}
				}
			}
		}
	}
	return out
}

// car drives in a lane; those on the left come towards the viewer.
type car struct{ lane, at, length, speed, light float32 }

// drive draws the lights of the car as streaks. road returns the position and the scale of
// a place in a lane.
func (c *car) drive(f *frame, road func(q, lane float32) (x, y, scale float32), t float32) {
	at := fraction(c.at + t*c.speed)
	colour, sides := hex(0xff2a18), float32(0.035)
	if c.lane < 0 { // towards the viewer
		at, colour, sides = 1-at, hex(0xfff0d0), 0.04
	}
	for k := range 22 {
		q := at + c.length*float32(k)/22
		if q > 1 {
			break
		}
		fade := (1 - float32(k)/22) * step(1, 0.8, q) * c.light
		for _, side := range []float32{-sides, sides} {
			x, y, s := road(q, c.lane+side)
			f.glow(x, y-0.03*s, 0.03*s+0.004, colour.times(0.42*fade))
		}
	}
	x, y, s := road(at, c.lane)
	f.glow(x, y, 0.13*s, colour.times(0.22*c.light*step(1, 0.8, at)))
}
