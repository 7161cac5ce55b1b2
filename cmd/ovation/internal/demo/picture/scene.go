package picture

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// tall is the height of a scene whose width is 1.
const tall = float32(16) / 9

// A scene draws the frame of a clip at a time, from 0 to 1. If it loops, the times 0 and 1
// show the same.
type scene func(f *frame, t float32)

// scenes holds for each scene a function that prepares it for a width in pixels.
var scenes = map[string]func(width int) scene{
	"sea": sea, "rain": rain, "train": train, "fire": fire, "stars": stars, "snow": snow,
	"plane": plane, "cup": cup, "cat": cat, "traffic": traffic, "aurora": aurora, "forest": forest,
}

// Scenes returns the names of all scenes, sorted.
func Scenes() []string {
	return slices.Sorted(maps.Keys(scenes))
}

// Clip draws the frames of a scene.
type Clip struct {
	frame *frame
	scene scene
}

// NewClip returns the clip of a scene, one of Scenes, in a size of which the height is 16/9
// of the width.
func NewClip(name string, width, height int) *Clip {
	return &Clip{newFrame(width, height), scenes[name](width)}
}

// Bytes returns the size of a frame in bytes.
func (c *Clip) Bytes() int { return 3 * len(c.frame.p) }

// Draw draws the frame at the time t, from 0 to 1, as red, green and blue bytes into the
// slice to, whose length is Bytes.
func (c *Clip) Draw(t float32, to []byte) {
	c.scene(c.frame, t)
	c.frame.write(to)
}

// seeded returns a source of random numbers that are the same each time.
func seeded(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 9)) //nolint:gosec // as the comment says
}

// spread returns a random number between a and b.
func spread(random *rand.Rand, a, b float32) float32 { return a + (b-a)*random.Float32() }

// still returns a frame of the scene's size, for what does not move.
func still(width int, at func(x, y float32) rgb) *frame {
	f := newFrame(width, int(float32(width)*tall+0.5))
	f.paint(at)
	return f
}

// ridge is the outline of hills: heights by position, which repeat every unit.
type ridge []float32

func newRidge(seed uint64, cells, octaves int, low, high float32) ridge {
	n := newNoise(seed, 512, cells, octaves)
	out := make(ridge, n.size)
	for i := range out {
		out[i] = low + (high-low)*n.v[i]
	}
	return out
}

func (r ridge) at(x float32) float32 {
	x = fraction(x) * float32(len(r))
	i := int(x)
	a, b := r[i%len(r)], r[(i+1)%len(r)]
	return a + (b-a)*(x-float32(i))
}

// hills lays hills over the picture, whose colour goes from top at the outline to low at
// the depth fade below it. y is the position of the height 0.
func (f *frame) hills(r ridge, shift, stretch, y, fade float32, top, low rgb) {
	w := float32(f.w)
	for i := range f.w {
		edge := (y - r.at(float32(i)/w*stretch+shift)) * w
		for j := max(int(edge), 0); j < f.h; j++ {
			a := clamp(float32(j) + 1 - edge)
			p := &f.p[j*f.w+i]
			*p = p.mix(top.mix(low, clamp((float32(j)-edge)/(fade*w))), a)
		}
	}
}
