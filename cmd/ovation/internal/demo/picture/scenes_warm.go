package picture

import "math"

func sqrt(v float32) float32 { return float32(math.Sqrt(float64(v))) }

// fire shows a campfire between trees.
func fire(width int) scene {
	const cx, base = 0.5, 1.36
	n, big := newNoise(71, 256, 8, 4), newNoise(72, 256, 4, 4)
	random := seeded(73)
	back := still(width, func(x, y float32) rgb {
		c := gradient(y/1.3, hex(0x0a1428), hex(0x101c30), hex(0x1a2230))
		return c
	})
	for range 90 {
		back.glow(random.Float32(), random.Float32()*0.8, 0.005, rgb{0.8, 0.85, 1}.times(spread(random, 0.1, 0.7)))
	}
	for i := range 15 { // firs in the dark
		x, top, r := float32(i)*0.075-0.03+spread(random, -0.02, 0.02), spread(random, 0.25, 0.75), spread(random, 0.09, 0.15)
		c := hex(0x0c1418).mix(hex(0x06090c), float32(i%3)/2)
		back.fill(x-r, top, x+r, 1.4, 2, c, func(px, py float32) float32 {
			s := (py - top) / (1.35 - top)
			return abs(px-x) - r*s*(0.72+0.28*fraction(s*7))
		})
	}
	back.within(0, 1.24, 1, tall, func(p *rgb, x, y float32) {
		c := hex(0x15110f).mix(hex(0x2a2019), n.at(x*1.2, y*3))
		*p = p.mix(c, step(1.24, 1.3, y+0.02*big.at(x, 0.5)))
	})
	type spark struct {
		x, at, sway, phase, size float32
		speed                    float32
	}
	sparks := make([]spark, 60)
	for i := range sparks {
		sparks[i] = spark{spread(random, -0.09, 0.09), random.Float32(), spread(random, 0.02, 0.09), random.Float32() * tau, spread(random, 0.003, 0.006), float32(1 + random.IntN(3))}
	}
	return func(f *frame, t float32) {
		flicker := 0.85 + 0.1*big.at(0.5, 2*t) + 0.12*n.at(0.3, 4*t)
		copy(f.p, back.p)
		f.within(0, 0.2, 1, tall, func(p *rgb, x, y float32) { // light on the trees and the ground
			dx, dy := x-cx, (y-base)*1.1
			if y > base {
				dy *= 1.8
			}
			d := dx*dx + dy*dy
			*p = p.plus(hex(0xff8030).times(flicker*(0.5*exp(-d*9)+0.12*exp(-d*2.2)))).mix(p.times(1+3.4*flicker*exp(-d*7)), 0.75)
		})
		stone := func(a, r float32) {
			x, y := cx+0.24*cos(a), base+0.075*sin(a)+0.015
			f.disc(x, y, r*1.2, r, 2, hex(0x1e1a18))
			f.disc(x-(x-cx)*0.06, y-0.008, r*0.9, r*0.6, 4, hex(0x6a4630).times(0.6+0.5*flicker))
		}
		for i := range 6 {
			stone(tau/2+float32(i)*tau/10, 0.04)
		}
		log := func(ax, ay, bx, by, r float32) {
			f.line(ax, ay, bx, by, r, r*0.85, 2, hex(0x1c110b))
			f.line(ax, ay-r*0.4, bx, by-r*0.4, r*0.4, r*0.3, 4, hex(0xa04818).times(flicker))
		}
		log(cx-0.17, base+0.04, cx+0.08, base-0.05, 0.028)
		log(cx+0.18, base+0.03, cx-0.07, base-0.06, 0.026)
		f.within(cx-0.3, base-0.75, cx+0.3, base+0.06, func(p *rgb, x, y float32) {
			h := (base + 0.03 - y) / 0.62 // 0 at the logs, 1 at the top
			wind := (big.at(0.2+h*0.2, y*0.7+2*t) - 0.5) * 0.28 * h
			dx := (x - cx + wind) / (0.155 - 0.03*h)
			turbulence := 0.62*n.at(x*1.05+wind, y*0.62+3*t) + 0.38*n.at(x*2.2-0.3, y*1.3+5*t)
			heat := 1.12 - dx*dx*(0.75+1.9*max(h, 0)) - h*1.25 + (turbulence-0.52)*(1.1+1.5*max(h, 0))
			if y > base {
				heat -= (y - base) * 12
			}
			if heat <= 0.12 {
				return
			}
			c := gradient(heat*0.95, hex(0x5a0a00), hex(0xe03a08), hex(0xff8a1c), hex(0xffd060), hex(0xfff2c0))
			*p = p.mix(c.times(1.0+0.35*heat), step(0.12, 0.42, heat)*0.93)
		})
		f.glow(cx, base-0.12, 0.55, hex(0xff7a28).times(0.18*flicker))
		for i := range 4 {
			stone(float32(i)*tau/8+0.35, 0.045)
		}
		for _, s := range sparks {
			at := fraction(s.at + t*s.speed)
			x := cx + s.x*(1+at) + s.sway*sin(at*7+s.phase)
			f.glow(x, base-0.2-at*1.1, s.size*1.6, hex(0xffa040).times(1.5*(1-at)*(1-at)))
		}
	}
}

// cup shows steam over a cup beside a window in the morning.
func cup(width int) scene {
	const table, cx, rim = 1.12, 0.47, 0.98
	n, big := newNoise(81, 256, 6, 4), newNoise(82, 256, 3, 4)
	random := seeded(83)
	back := still(width, func(x, y float32) rgb {
		// A wall out of focus, with the light of a window on it.
		c := gradient(y/table, hex(0x3d2f2a), hex(0x5a4236), hex(0x6e4c38))
		skew := x + (y-0.2)*0.35
		pane := step(0.16, 0.22, skew) * step(0.86, 0.8, skew) * step(0.06, 0.12, y) * step(0.86, 0.8, y)
		cross := step(0.012, 0.04, abs(skew-0.51)) * step(0.012, 0.04, abs(y-0.46))
		c = c.plus(hex(0xffb868).times(0.52 * pane * (0.3 + 0.7*cross) * (0.8 + 0.4*n.at(x*0.3, y*0.3))))
		if y > table-0.01 {
			grain := n.at(x*0.35+0.02*big.at(x, y), y*5.5)
			wood := hex(0x5b3820).mix(hex(0x8a5832), grain)
			wood = wood.times(1.15 - 0.8*(y-table)).plus(hex(0xffc080).times(0.22 * exp(-(y-table)*(y-table)*26) * step(0, 0.6, x)))
			c = c.mix(wood, step(table-0.006, table+0.008, y))
		}
		return c
	})
	for range 14 {
		back.bokeh(spread(random, 0, 1), spread(random, 0.05, 0.9), spread(random, 0.02, 0.05), hex(0xffc080).times(spread(random, 0.02, 0.1)))
	}
	shadow := func(x, y float32) float32 { return hypot((x-cx-0.1)/0.36, (y-1.36)/0.085) }
	back.within(0, 1.2, 1, 1.6, func(p *rgb, x, y float32) { *p = p.times(1 - 0.55*step(1.15, 0.3, shadow(x, y))) })
	// Saucer, cup, handle.
	back.disc(cx, 1.36, 0.33, 0.072, 2, hex(0xb9b0a4))
	back.disc(cx, 1.352, 0.33, 0.07, 2, hex(0xe6ddd0))
	back.disc(cx, 1.354, 0.2, 0.04, 5, hex(0xa89a8a))
	china := func(x float32) rgb {
		u := (x - cx) / 0.22
		return gradient((u+1)/2, hex(0xc9bfb2), hex(0xfaf3e8), hex(0xe2d6c6), hex(0xa99a8a), hex(0x7e6c60))
	}
	back.within(cx+0.14, 1.0, cx+0.36, 1.28, func(p *rgb, x, y float32) {
		d := abs(hypot((x-cx-0.2)/0.1, (y-1.13)/0.095)-1)*0.095 - 0.019
		*p = p.mix(hex(0xd8cbbb).mix(hex(0x8f7f70), step(1.05, 1.25, y)), clamp(0.5-d*float32(width)/2))
	})
	back.within(cx-0.24, rim, cx+0.24, 1.37, func(p *rgb, x, y float32) {
		s := (y - rim) / (1.35 - rim)
		half := 0.215 * sqrt(max(1-s*s*0.78, 0))
		*p = p.mix(china(x).times(1.04-0.25*s), clamp(0.5-max(abs(x-cx)-half, y-1.345-0.02*(1-(x-cx)*(x-cx)*60))*float32(width)/2))
	})
	back.disc(cx, rim, 0.217, 0.052, 2, hex(0xf6efe4))
	back.disc(cx, rim+0.003, 0.2, 0.044, 2, hex(0x8c7d70))
	return func(f *frame, t float32) {
		copy(f.p, back.p)
		f.within(cx-0.2, rim-0.05, cx+0.2, rim+0.06, func(p *rgb, x, y float32) { // the coffee
			d := hypot((x-cx)/0.192, (y-rim-0.008)/0.037)
			if d < 1 {
				swirl := n.at(x*1.5+0.04*sin(tau*t), y*5+0.03*cos(tau*t))
				c := hex(0x2a140a).mix(hex(0x6a3a1c), 0.55*step(0.7, 1, d)+0.4*swirl).plus(hex(0xffd0a0).times(0.5 * step(0.3, 0, hypot((x-cx+0.08)/0.09, (y-rim)/0.02)-0.5)))
				*p = p.mix(c, step(1, 0.93, d))
			}
		})
		// Steam rises in two strands that spread.
		f.within(0, 0.1, 1, rim+0.02, func(p *rgb, x, y float32) {
			h := (rim + 0.01 - y) / 0.85
			drift := (big.at(0.1+h*0.12, y*0.5+t)-0.5)*0.34*h + 0.05*h
			var dense float32
			for strand := range 2 {
				i := float32(strand)
				path := cx - 0.06 + 0.12*i + drift + (big.at(0.4*i+0.3, y*0.8+2*t)-0.5)*(0.1+0.34*h)
				wide := 0.03 + 0.1*h
				dx := (x - path) / wide
				curl := n.at((x-path)*0.9+i*0.4, y*0.55+2*t)
				dense += exp(-dx*dx) * step(0.3, 0.85, curl+0.1)
			}
			dense *= step(-0.01, 0.06, h) * step(1.0, 0.15, h)
			*p = p.plus(hex(0xffe9d2).times(min(dense, 1) * 0.42))
		})
		for i := range 26 { // dust in the light
			k := float32(i)
			x, y := fraction(k*0.381+0.03*sin(tau*t+k)), 0.1+fraction(k*0.618-t*float32(1+i%2)*0.5*2)*0.9
			f.glow(x, y, 0.005, hex(0xffdba8).times(0.22*(0.6+0.4*sin(2*tau*t+k*2))))
		}
	}
}

// plane shows clouds from the window of a plane.
func plane(width int) scene {
	n, fine := newNoise(91, 256, 4, 6), newNoise(92, 256, 9, 4)
	size := still(width, func(_, _ float32) rgb { return rgb{} })
	wall := newOverlay(size, func(x, y float32) (rgb, float32) {
		d := box(x, y, 0.5, 0.83, 0.375, 0.6, 0.3)
		shade := gradient(y/tall, hex(0x9c9a9a), hex(0xc6c0b8), hex(0x8f8a88))
		lip := hex(0xd8d2c8).times(0.62 + 0.5*step(-0.3, 0.5, (x-0.5)*0.8-(y-0.83)*0.9))
		outer := shade.mix(hex(0x6b6668), step(0.07, 0.3, d)).times(0.62)
		inner := lip.mix(hex(0x55504e), step(0.055, 0.062, d)*step(0.075, 0.066, d))
		c := inner.mix(outer, step(0.066, 0.085, d)).plus(hex(0xffd9b0).times(0.22 * exp(-max(d, 0)*26)))
		return c.times(step(-0.01, 0.001, d)), max(clamp(d*size.wide()+0.5), 0.3*step(-0.035, 0, d))
	})
	return func(f *frame, t float32) {
		for i, opaque := range wall.opaque {
			if opaque < 1 {
				f.p[i] = cloudscape(n, fine, (float32(i%f.w)+0.5)/f.wide(), (float32(i/f.w)+0.5)/f.wide(), t)
			}
		}
		f.cover(wall)
	}
}

// cloudscape returns the colour outside of the plane: sky, clouds and the wing.
func cloudscape(n, fine *noise, x, y, t float32) rgb {
	const horizon = 0.86
	c := gradient(y/horizon, hex(0x12305e), hex(0x2f62a0), hex(0x86a9c8), hex(0xf6c99a))
	sun := hypot(x-0.7, y-0.76)
	c = c.plus(hex(0xffd9a0).times(0.9 * exp(-sun*sun*60))).plus(hex(0xffb070).times(0.35 * exp(-sun*sun*8)))
	if y > horizon-0.03 {
		near := max(y-horizon+0.012, 0.004) / (tall - horizon)
		depth := 1 / (near + 0.05)
		u, v := (x-0.5)*depth*0.11+0.12*t, depth*0.17
		thick := 0.7*n.at(u, v) + 0.3*fine.at(u*1.7+0.05*t, v*1.7)
		lit := thick - 0.7*n.at(u+0.02, v-0.025) - 0.3*fine.at(u*1.7+0.03, v*1.7-0.03)
		cover := step(0.34, 0.56, thick)
		cloud := hex(0x8a93b4).mix(hex(0xfff0dc), clamp(0.5+lit*3.2+0.3*(thick-0.5)))
		cloud = cloud.plus(hex(0xffa060).times(0.28 * exp(-near*5)))
		below := hex(0x3a5f8c).mix(hex(0x24436e), near)
		haze := exp(-near * 9)
		c = c.mix(below.mix(cloud, cover).mix(hex(0xf3cfae), haze), step(horizon-0.03, horizon+0.004, y+0.03*fine.at(x*0.8+0.12*t, 0.2)-0.008))
	}
	// The wing, with a light at its tip.
	bend := 0.004 * sin(2*tau*t)
	edge := 1.33 - x*0.36 + bend
	if d := max(edge-y, y-edge-0.03-0.2*(0.95-x), x-0.78); d < 0.004 {
		wing := hex(0xd7dce4).mix(hex(0x77839a), step(edge, edge+0.12, y)).plus(hex(0xffc890).times(0.4 * step(edge+0.02, edge, y)))
		if fraction(x*7+y*2) < 0.03 {
			wing = wing.times(0.88)
		}
		c = c.mix(wing, step(0.004, 0, d))
	}
	tip := max(edge-0.1-0.6*(x-0.74)-y, y-edge-0.02, abs(x-0.775+0.1*(y-edge))-0.02)
	c = c.mix(hex(0xb8482c), step(0.004, 0, tip))
	blink := step(0.9, 1, sin(6*tau*t))
	lamp := hypot(x-0.775, y-edge-0.008)
	return c.plus(rgb{1.5, 0.4, 0.3}.times(blink * exp(-lamp*lamp*2600))).plus(rgb{0.5, 0.15, 0.1}.times(blink * exp(-lamp*lamp*160)))
}

// forest shows beams of the sun in a misty wood.
func forest(width int) scene {
	n, big := newNoise(101, 256, 6, 4), newNoise(102, 256, 3, 4)
	random := seeded(103)
	const sunX, sunY = 0.34, 0.28
	light := func(x, y float32) float32 { d := hypot(x-sunX, (y-sunY)*0.8); return exp(-d * 2.1) }
	back := still(width, func(x, y float32) rgb {
		l := light(x, y)
		c := gradient(1-l, hex(0xfff2c8), hex(0xd9cf8c), hex(0x8fa070), hex(0x4d6a50))
		return c.mix(hex(0x33422f), step(1.25, 1.6, y)*0.7)
	})
	for layer := range 4 { // trunks, the far ones first
		k := float32(layer) / 3
		for i := range 7 - layer {
			x := (float32(i)+0.5)/float32(7-layer) + spread(random, -0.06, 0.06)
			if layer > 1 && abs(x-sunX) < 0.09 {
				x += 0.16
			}
			r, lean := 0.008+0.03*k*k+spread(random, 0, 0.006), spread(random, -0.05, 0.05)
			foot := 1.28 + 0.28*k
			c := hex(0x8a9468).mix(hex(0x141a14), sqrt(k))
			back.line(x+lean, -0.1, x, foot, r*0.8, r*1.25, 3-k, c.mix(hex(0xe9dca0), (1-k)*0.5*light(x, 0.5)))
			for range 3 + layer { // branches
				y := spread(random, 0.05, 0.85)
				side := spread(random, -0.16, 0.16)
				back.line(x+lean*(1-y/foot), y, x+lean+side, y-spread(random, -0.03, 0.09), r*0.3, 0.001, 3-k, c)
			}
		}
		ground := newRidge(uint64(110+layer), 6, 5, 0, 0.05)
		back.hills(ground, k, 0.5, 1.3+0.27*k, 0.2, hex(0x7f8f58).mix(hex(0x1d2a18), sqrt(k)), hex(0x4a5a38).mix(hex(0x0d130c), k))
	}
	for range 260 { // ferns
		x, y := random.Float32(), spread(random, 1.5, 1.8)
		a := spread(random, -1.1, 1.1)
		back.line(x, y, x+0.09*sin(a), y-0.1*cos(a), 0.004, 0.001, 1.5, hex(0x2a3c1e).mix(hex(0x8a9a48), 0.5*random.Float32()*light(x, 0.9)+0.05))
	}
	return func(f *frame, t float32) {
		copy(f.p, back.p)
		f.within(0, 0, 1, tall, func(p *rgb, x, y float32) {
			dx, dy := x-sunX, y-sunY+0.35
			angle := dx / (dy + 0.25)
			beam := step(0.42, 0.8, n.at(angle*0.62+0.05*sin(tau*t), 0.3+0.06*cos(tau*t)))*0.8 + 0.25*n.at(angle*1.7, t)
			d := hypot(dx, dy)
			reach := step(-0.1, 0.3, dy) * exp(-d*0.95)
			mist := big.at(x*0.5+0.5*t*2, y*0.8) * step(0.5, 1.3, y) * step(1.75, 1.3, y)
			*p = p.plus(hex(0xffe9ac).times(0.62*beam*reach)).mix(hex(0xc9c894), 0.34*mist*(0.4+light(x, y)))
		})
		for i := range 44 { // dust and insects
			k := float32(i)
			x, y := fraction(k*0.618+0.04*sin(tau*t+k*1.7)), 0.3+fraction(k*0.377+0.05*cos(tau*t*float32(1+i%2)+k))*1.1
			f.glow(x, y, 0.006, hex(0xfff0b8).times((0.2+0.9*light(x, y))*(0.6+0.4*sin(3*tau*t+k))))
		}
	}
}
