package dataset

import "slices"

// chunkBytes bounds the memory of a chunk.
const chunkBytes = 4 << 20

// chunks holds rows of a fixed width in pieces: growing never copies what is there,
// and packing can give it back piece by piece.
type chunks[T float32 | float64] struct {
	width int
	shift int // a chunk has 1<<shift rows
	rows  int
	data  [][]T
}

func newChunks[T float32 | float64](width int) *chunks[T] {
	c := &chunks[T]{width: width}
	for (width*8)<<(c.shift+1) <= chunkBytes {
		c.shift++
	}
	return c
}

// add appends a row.
func (c *chunks[T]) add(x []float64) {
	if c.rows&(1<<c.shift-1) == 0 {
		var chunk []T
		if c.rows > 0 { // small tables stay small
			chunk = make([]T, 0, c.width<<c.shift)
		}
		c.data = append(c.data, chunk)
	}
	last := slices.Grow(c.data[len(c.data)-1], c.width)
	n := len(last)
	last = last[:n+c.width]
	for j, v := range x {
		last[n+j] = T(v)
	}
	c.data[len(c.data)-1] = last
	c.rows++
}

// resize makes room for the given number of rows of zeros.
func (c *chunks[T]) resize(rows int) {
	c.data, c.rows = nil, rows
	for at := 0; at < rows; at += 1 << c.shift {
		c.data = append(c.data, make([]T, c.width*min(1<<c.shift, rows-at)))
	}
}

func (c *chunks[T]) row(i int) []T {
	at := (i & (1<<c.shift - 1)) * c.width
	return c.data[i>>c.shift][at:][:c.width]
}

// get copies row i to dst.
func (c *chunks[T]) get(dst []float64, i int) {
	for j, v := range c.row(i) {
		dst[j] = float64(v)
	}
}

// put sets a run of entries that starts at entry at, counted along the rows.
func (c *chunks[T]) put(at int, run []float64) {
	size := c.width << c.shift
	for len(run) > 0 {
		dst := c.data[at/size][at%size:]
		n := min(len(dst), len(run))
		for j, v := range run[:n] {
			dst[j] = T(v)
		}
		at, run = at+n, run[n:]
	}
}

// store is the rows of a table in either storage.
type store interface {
	add(x []float64)
	resize(rows int)
	get(dst []float64, i int)
	put(at int, run []float64)
}

// fits reports whether a finite v is finite as float32, too: it is below the middle
// between the largest float32 and what would follow.
func fits(v float64) bool {
	const limit = 0x1.ffffffp127
	return v < limit && v > -limit
}
