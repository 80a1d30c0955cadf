package dataset

import "slices"

// chunkBytes bounds the size of a chunk.
const chunkBytes = 4 << 20

// chunks holds rows of a fixed width in pieces, so that growth copies at most one chunk.
type chunks struct {
	width int
	shift int // a chunk has 1<<shift rows
	rows  int
	data  [][]float64
}

func newChunks(width int) *chunks {
	c := &chunks{width: width}
	for (width*8)<<(c.shift+1) <= chunkBytes {
		c.shift++
	}
	return c
}

// add appends a copy of row x.
func (c *chunks) add(x []float64) {
	if c.rows&(1<<c.shift-1) == 0 {
		var chunk []float64
		if c.rows > 0 { // the first chunk grows, for small tables
			chunk = make([]float64, 0, c.width<<c.shift)
		}
		c.data = append(c.data, chunk)
	}
	last := &c.data[len(c.data)-1]
	*last = append(slices.Grow(*last, c.width), x...)
	c.rows++
}

// row returns row i, which aliases c.
func (c *chunks) row(i int) []float64 {
	return c.data[i>>c.shift][(i&(1<<c.shift-1))*c.width:][:c.width]
}
