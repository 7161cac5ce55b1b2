package picture

// sea shows waves at dusk, with the sun just above the horizon.
func sea(width int) scene {
	const horizon, sunX, sunY = 0.86, 0.56, 0.79
	clouds, waves := newNoise(1, 256, 5, 5), newNoise(2, 256, 6, 5)
	sky := func(x, y float32) rgb {
		c := gradient(y/horizon, hex(0x1f2347), hex(0x4a3566), hex(0xa04f63), hex(0xf08a4b), hex(0xffc777))
		band := step(0.5, 0.8, clouds.at(x*0.5+0.1, y*1.9)) * step(0.05, 0.5, y)
		c = c.mix(hex(0x5a3350).mix(hex(0xff9d6a), step(0.2, 0.8, y)), band*0.55)
		d := hypot(x-sunX, y-sunY)
		return c.plus(hex(0xff9a50).times(0.5 * exp(-d*d*9))).plus(hex(0xffd590).times(0.6 * exp(-d*d*130)))
	}
	back := still(width, sky)
	skies := still(width, sky) // without the sun itself, whose mirror image is the glitter
	back.disc(sunX, sunY, 0.062, 0.062, 3, rgb{1.7, 1.45, 1.05})
	return func(f *frame, t float32) {
		copy(f.p, back.p)
		boat := 0.2 + 0.03*sin(tau*t)
		f.within(0, horizon, 1, tall, func(p *rgb, x, y float32) {
			near := (y - horizon) / (tall - horizon)
			depth := 1 / (near + 0.035)
			u, v := (x-0.5)*depth*0.16, depth*0.55
			h := waves.at(u+t, v*0.8+t) + waves.at(u*1.7-t+0.3, v*1.3+2*t) - 1
			h2 := waves.at(u*3.1+2*t, v*2.9+3*t) - 0.5
			slope := h*0.9 + h2*0.7
			mirror := horizon - (y-horizon)*0.55 - slope*0.34*(0.25+near)
			c := skies.sample(clamp(x+slope*0.05), clampTo(mirror, 0.02, horizon-0.01))
			fresnel := clamp(0.9 - near*0.62 - slope*0.35)
			c = hex(0x0b1c33).mix(c, fresnel)
			spread := 0.055 + near*0.16
			d := (x - sunX + slope*0.12) / spread
			glint := exp(-d*d) * step(0.02, 0.34, slope+0.1*(1-near))
			c = c.plus(hex(0xffb066).times(glint * 1.15))
			*p = c.plus(hex(0xffe0c0).times(0.5 * step(0.62, 0.95, h+h2) * near))
		})
		// A sailing boat far out.
		const y = horizon + 0.006
		f.fill(boat-0.03, y-0.09, boat+0.03, y, 1.2, hex(0x2a1c33), func(x, py float32) float32 {
			return max(abs(x-boat)-(py-(y-0.085))*0.3, py-(y-0.008), boat-0.003-x)
		})
		f.line(boat-0.018, y, boat+0.02, y-0.001, 0.005, 0.005, 1.2, hex(0x2a1c33))
	}
}

func clampTo(v, low, high float32) float32 { return min(max(v, low), high) }

// aurora shows northern lights over a lake.
func aurora(width int) scene {
	const shore = 1.22
	n, fine := newNoise(3, 256, 4, 4), newNoise(4, 256, 12, 3)
	hills := newRidge(6, 5, 5, 0.03, 0.2)
	random := seeded(8)
	back := still(width, func(_, y float32) rgb { return gradient(y/shore, hex(0x050914), hex(0x0a1c2e), hex(0x12394a)) })
	for range 260 {
		x, y := random.Float32(), random.Float32()*1.1
		back.glow(x, y, 0.004+0.003*random.Float32(), rgb{0.9, 0.95, 1}.times(spread(random, 0.1, 0.9)))
	}
	return func(f *frame, t float32) {
		copy(f.p, back.p)
		f.within(0, 0, 1, shore, func(p *rgb, x, y float32) {
			for curtain := range 3 {
				i := float32(curtain)
				// A curtain hangs from a winding line; its rays reach upwards.
				wind := n.at(x*0.45+i*0.31+0.12*sin(tau*t), i*0.37+0.09*cos(tau*t))
				base := 0.35 + i*0.26 + (wind-0.5)*0.75
				d := base - y
				if d < -0.06 || d > 0.8 {
					continue
				}
				rays := fine.at(x*1.3+wind*0.5+i*0.2+0.06*sin(tau*t+i), 0.1*i+t)
				light := step(-0.05, 0.02, d) * exp(-max(d, 0)*(3.2+3.5*rays)) * (0.25 + 1.1*rays*rays) * (0.55 + 0.65*n.at(x*0.5-i*0.2, t+i*0.5))
				*p = p.plus(gradient(d*2.1, hex(0x4dffa0), hex(0x35d9a8), hex(0x7a5cff), hex(0xb04ad0)).times(light * 0.75))
			}
		})
		f.hills(hills, 0.1, 0.7, shore, 0.2, hex(0x081420), hex(0x04090f))
		f.within(0, shore, 1, tall, func(p *rgb, x, y float32) {
			near := (y - shore) / (tall - shore)
			depth := 1 / (near + 0.08)
			r := fine.at((x-0.5)*depth*0.22, depth*0.5+t) - 0.5
			c := f.sample(clamp(x+r*0.03*(0.3+near)), clampTo(shore-(y-shore)*0.95+r*0.1*(0.2+near), 0, shore))
			*p = hex(0x02060c).mix(c, 0.62-0.25*near)
		})
		// Someone stands at the water with a lamp.
		const fx, fy = 0.34, 1.43
		f.hills(hills, 0.6, 0.25, 1.73, 0.1, hex(0x03060a), hex(0x020407))
		f.glow(fx+0.03, fy+0.1, 0.16, hex(0xffa040).times(0.45+0.04*sin(2*tau*t)))
		f.line(fx, fy+0.02, fx, fy+0.11, 0.02, 0.026, 1.5, hex(0x020308))
		f.line(fx-0.008, fy+0.1, fx-0.012, fy+0.2, 0.011, 0.009, 1.5, hex(0x020308))
		f.line(fx+0.01, fy+0.1, fx+0.013, fy+0.2, 0.011, 0.009, 1.5, hex(0x020308))
		f.disc(fx, fy-0.014, 0.017, 0.02, 1.5, hex(0x020308))
		f.disc(fx+0.034, fy+0.1, 0.008, 0.011, 2, rgb{1.6, 1.1, 0.6})
	}
}
