package picture

import "math/rand/v2"

// noise is a texture of smooth random values between 0 and 1. It repeats every unit in both
// directions.
type noise struct {
	size int
	v    []float32
}

// newNoise returns a texture whose coarsest features are 1/cells wide.
func newNoise(seed uint64, size, cells, octaves int) *noise {
	random := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // it is meant to be the same each time
	n := &noise{size, make([]float32, size*size)}
	weight, sum := float32(1), float32(0)
	for range octaves {
		grid := make([]float32, cells*cells)
		for i := range grid {
			grid[i] = random.Float32()
		}
		for y := range size {
			fy := float32(y) / float32(size) * float32(cells)
			j, b := int(fy)%cells, smooth(fy-float32(int(fy)))
			for x := range size {
				fx := float32(x) / float32(size) * float32(cells)
				i, a := int(fx)%cells, smooth(fx-float32(int(fx)))
				i1, j1 := (i+1)%cells, (j+1)%cells
				top := grid[j*cells+i] + (grid[j*cells+i1]-grid[j*cells+i])*a
				low := grid[j1*cells+i] + (grid[j1*cells+i1]-grid[j1*cells+i])*a
				n.v[y*size+x] += weight * (top + (low-top)*b)
			}
		}
		sum += weight
		weight, cells = weight*0.5, min(cells*2, size)
	}
	lowest, highest := sum, float32(0)
	for _, v := range n.v {
		lowest, highest = min(lowest, v), max(highest, v)
	}
	for i, v := range n.v {
		n.v[i] = (v - lowest) / (highest - lowest)
	}
	return n
}

// at returns the value at a position, interpolated. size is a power of two.
func (n *noise) at(x, y float32) float32 {
	fx, fy := x*float32(n.size), y*float32(n.size)
	i, j := int(fx), int(fy)
	if fx < 0 {
		i--
	}
	if fy < 0 {
		j--
	}
	a, b := fx-float32(i), fy-float32(j)
	mask := n.size - 1
	i0, i1, r0, r1 := i&mask, (i+1)&mask, j&mask*n.size, (j+1)&mask*n.size
	top := n.v[r0+i0] + (n.v[r0+i1]-n.v[r0+i0])*a
	low := n.v[r1+i0] + (n.v[r1+i1]-n.v[r1+i0])*a
	return top + (low-top)*b
}
