package picture

import (
	"math"
)

// rgb is a colour; 1 is the brightest value that a screen shows. Lights may be brighter.
type rgb [3]float32

// hex returns the colour 0xrrggbb.
func hex(v uint32) rgb {
	return rgb{float32(v>>16&0xff) / 255, float32(v>>8&0xff) / 255, float32(v&0xff) / 255}
}

func (a rgb) mix(b rgb, t float32) rgb {
	return rgb{a[0] + (b[0]-a[0])*t, a[1] + (b[1]-a[1])*t, a[2] + (b[2]-a[2])*t}
}

func (a rgb) times(f float32) rgb { return rgb{a[0] * f, a[1] * f, a[2] * f} }

func (a rgb) plus(b rgb) rgb { return rgb{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }

// gradient returns the colour at t of evenly spaced colours, from 0 to 1.
func gradient(t float32, colours ...rgb) rgb {
	t = clamp(t) * float32(len(colours)-1)
	i := min(int(t), len(colours)-2)
	return colours[i].mix(colours[i+1], smooth(t-float32(i)))
}

func clamp(t float32) float32 { return min(max(t, 0), 1) }

func smooth(t float32) float32 {
	t = clamp(t)
	return t * t * (3 - 2*t)
}

// step rises smoothly from 0 at a to 1 at b.
func step(a, b, t float32) float32 { return smooth((t - a) / (b - a)) }

func sin(t float32) float32 { return float32(math.Sin(float64(t))) }

func cos(t float32) float32 { return float32(math.Cos(float64(t))) }

// exp approximates the exponential of a number that is not positive.
func exp(t float32) float32 {
	if t < -12 {
		return 0
	}
	v := 1 + t/256
	v *= v
	v *= v
	v *= v
	v *= v
	v *= v
	v *= v
	v *= v
	return v * v
}

func hypot(x, y float32) float32 { return float32(math.Sqrt(float64(x*x + y*y))) }

func fraction(t float32) float32 { return t - float32(math.Floor(float64(t))) }

const tau = 2 * math.Pi

// frame is a picture in memory. Its methods use pixels as the unit; y grows downwards.
type frame struct {
	w, h int
	p    []rgb
}

func newFrame(w, h int) *frame { return &frame{w, h, make([]rgb, w*h)} }

// paint sets every pixel to the colour at its position. x is from 0 to 1, and y from 0 to
// the height divided by the width.
func (f *frame) paint(at func(x, y float32) rgb) {
	for y := range f.h {
		for x := range f.w {
			f.p[y*f.w+x] = at((float32(x)+0.5)/float32(f.w), (float32(y)+0.5)/float32(f.w))
		}
	}
}

// sample returns the colour at a position, in the units of paint.
func (f *frame) sample(x, y float32) rgb {
	fx, fy := min(max(x*float32(f.w)-0.5, 0), float32(f.w-2)), min(max(y*float32(f.w)-0.5, 0), float32(f.h-2))
	i, j := int(fx), int(fy)
	at := j*f.w + i
	a, b := fx-float32(i), fy-float32(j)
	return f.p[at].mix(f.p[at+1], a).mix(f.p[at+f.w].mix(f.p[at+f.w+1], a), b)
}

// within calls the function do for the pixels of a rectangle, given in the units of paint.
func (f *frame) within(x0, y0, x1, y1 float32, do func(p *rgb, x, y float32)) {
	w := float32(f.w)
	for y := max(int(y0*w), 0); y < min(int(y1*w)+1, f.h); y++ {
		for x := max(int(x0*w), 0); x < min(int(x1*w)+1, f.w); x++ {
			do(&f.p[y*f.w+x], (float32(x)+0.5)/w, (float32(y)+0.5)/w)
		}
	}
}

// glow adds a light that fades out at the radius r.
func (f *frame) glow(cx, cy, r float32, c rgb) {
	f.within(cx-r, cy-r, cx+r, cy+r, func(p *rgb, x, y float32) {
		if d := ((x-cx)*(x-cx) + (y-cy)*(y-cy)) / (r * r); d < 1 {
			*p = p.plus(c.times((1 - d) * (1 - d)))
		}
	})
}

// bokeh adds an unfocused light: a disc whose edge is a little brighter.
func (f *frame) bokeh(cx, cy, r float32, c rgb) {
	soft := 1.5 / float32(f.w)
	f.within(cx-r-soft, cy-r-soft, cx+r+soft, cy+r+soft, func(p *rgb, x, y float32) {
		d := hypot(x-cx, y-cy)
		*p = p.plus(c.times(step(r+soft, r-soft, d) * (0.75 + 0.35*step(0.6*r, r, d))))
	})
}

// overlay is what lies over a scene and does not move.
type overlay struct {
	colour []rgb
	opaque []float32 // from 0, where the scene is seen, to 1
}

// newOverlay returns an overlay of the size of f. at returns the colour and how opaque it
// is at a position, in the units of paint.
func newOverlay(f *frame, at func(x, y float32) (rgb, float32)) *overlay {
	o := &overlay{make([]rgb, len(f.p)), make([]float32, len(f.p))}
	for i := range f.p {
		o.colour[i], o.opaque[i] = at((float32(i%f.w)+0.5)/float32(f.w), (float32(i/f.w)+0.5)/float32(f.w))
	}
	return o
}

// cover lays an overlay over the picture.
func (f *frame) cover(o *overlay) {
	for i, a := range o.opaque {
		if a > 0 {
			f.p[i] = f.p[i].mix(o.colour[i], a)
		}
	}
}

// fill lays a colour over the pixels of a rectangle whose signed distance from a shape is
// negative, with an edge that is soft pixels wide.
func (f *frame) fill(x0, y0, x1, y1, soft float32, c rgb, distance func(x, y float32) float32) {
	soft = max(soft, 1) / float32(f.w)
	f.within(x0, y0, x1, y1, func(p *rgb, x, y float32) {
		if a := clamp(0.5 - distance(x, y)/soft); a > 0 {
			*p = p.mix(c, a)
		}
	})
}

// disc lays an ellipse over the picture.
func (f *frame) disc(cx, cy, rx, ry, soft float32, c rgb) {
	pad := soft / float32(f.w)
	f.fill(cx-rx-pad, cy-ry-pad, cx+rx+pad, cy+ry+pad, soft, c, func(x, y float32) float32 {
		return (hypot((x-cx)/rx, (y-cy)/ry) - 1) * min(rx, ry)
	})
}

// line lays a line with round ends over the picture; its half width goes from ra to rb.
func (f *frame) line(ax, ay, bx, by, ra, rb, soft float32, c rgb) {
	pad := max(ra, rb) + soft/float32(f.w)
	f.fill(min(ax, bx)-pad, min(ay, by)-pad, max(ax, bx)+pad, max(ay, by)+pad, soft, c, func(x, y float32) float32 {
		return segment(x, y, ax, ay, bx, by, ra, rb)
	})
}

// segment returns the signed distance from a line.
func segment(x, y, ax, ay, bx, by, ra, rb float32) float32 {
	dx, dy := bx-ax, by-ay
	t := clamp(((x-ax)*dx + (y-ay)*dy) / max(dx*dx+dy*dy, 1e-9))
	return hypot(x-ax-t*dx, y-ay-t*dy) - (ra + (rb-ra)*t)
}

// box returns the signed distance from a rectangle with round corners.
func box(x, y, cx, cy, rx, ry, round float32) float32 {
	dx, dy := abs(x-cx)-rx+round, abs(y-cy)-ry+round
	return hypot(max(dx, 0), max(dy, 0)) + min(max(dx, dy), 0) - round
}

func abs(t float32) float32 { return max(t, -t) }

// levels maps brightness to bytes; highlights are compressed instead of cut off.
var levels = func() (out [2048]byte) {
	for i := range out {
		v := float32(i) / 512 // up to 4
		if v > 0.75 {
			v = 0.75 + 0.25*(1-exp(-(v-0.75)/0.25))
		}
		out[i] = byte(255*v + 0.5)
	}
	return out
}()

func level(v float32) byte { return levels[min(max(int(v*512), 0), len(levels)-1)] }

// write stores the picture as bytes: red, green and blue of each pixel.
func (f *frame) write(to []byte) {
	for i, p := range f.p {
		to[3*i], to[3*i+1], to[3*i+2] = level(p[0]), level(p[1]), level(p[2])
	}
}
