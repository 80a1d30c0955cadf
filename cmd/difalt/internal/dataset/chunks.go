package dataset

// chunkSize is the number of numbers in a piece of chunks.
const chunkSize = 1 << 19

// chunks holds rows of a fixed width in pieces of about half a million numbers, so that growth copies at most
// one, and at most one has unused memory.
type chunks[T any] struct {
	width, size, rows int // size: rows of a piece
	pieces            [][]T
}

func newChunks[T any](width int) *chunks[T] {
	return &chunks[T]{width: width, size: max(1, chunkSize/max(width, 1))}
}

// remove takes column j out of all rows.
func (c *chunks[T]) remove(j int) {
	for k, piece := range c.pieces {
		kept := piece[:0]
		for at := 0; at < len(piece); at += c.width {
			row := piece[at:][:c.width]
			kept = append(append(kept, row[:j]...), row[j+1:]...)
		}
		c.pieces[k] = kept
	}
	c.width--
}

// add appends a copy of row x.
func (c *chunks[T]) add(x ...T) {
	if c.rows%c.size == 0 {
		var piece []T
		if c.rows > 0 { // the first one grows, for small tables
			piece = make([]T, 0, c.width*c.size)
		}
		c.pieces = append(c.pieces, piece)
	}
	last := &c.pieces[len(c.pieces)-1]
	*last = append(*last, x...)
	c.rows++
}

// row returns row i, which aliases c.
func (c *chunks[T]) row(i int) []T {
	return c.pieces[i/c.size][i%c.size*c.width:][:c.width]
}
