package dataset

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/difalt/difalt/cmd/difalt/internal/memory"
	"github.com/difalt/difalt/internal/scratch"
)

// chunkBytes and diskBytes bound the size of a chunk in memory and on disk.
const (
	chunkBytes = 4 << 20
	diskBytes  = 64 << 20
)

// checkEvery is for how many chunks ahead it is made sure that there is memory.
const checkEvery = 8

// chunks holds rows of a fixed width in pieces: growing never copies what is there,
// and packing can give it back piece by piece.
type chunks[T float32 | float64] struct {
	width  int
	shift  int // a chunk has 1<<shift rows
	rows   int
	data   [][]T
	folder string          // where the chunks are, empty for memory
	files  []*scratch.File // that hold them there
}

func newChunks[T float32 | float64](width int, folder string) *chunks[T] {
	c := &chunks[T]{width: width, folder: folder}
	most := chunkBytes
	if folder != "" {
		most = diskBytes
	}
	for (width*8)<<(c.shift+1) <= most {
		c.shift++
	}
	return c
}

// room returns zeros for so many rows.
func (c *chunks[T]) room(rows int) ([]T, error) {
	n := c.width * rows
	if c.folder == "" {
		return make([]T, n), nil
	}
	var v T
	f, err := scratch.New(c.folder, n*int(unsafe.Sizeof(v)))
	if err != nil {
		return nil, err
	}
	c.files = append(c.files, f)
	return scratch.Numbers[T](f), nil
}

// check returns an error if there is no memory for so many rows more.
func (c *chunks[T]) check(rows int) error {
	if c.folder != "" {
		return nil
	}
	var v T
	what := fmt.Sprintf("%d rows of %d columns", rows, c.width)
	if c.rows > 0 {
		what = fmt.Sprintf("%d rows of %d columns after %d", rows, c.width, c.rows)
	}
	return memory.Check(float64(rows)*float64(c.width)*float64(unsafe.Sizeof(v)), what)
}

func (c *chunks[T]) add(x []float64) error {
	if c.rows&(1<<c.shift-1) == 0 {
		var chunk []T
		if c.rows > 0 || c.folder != "" { // small tables stay small
			if len(c.data)%checkEvery == 1 {
				if err := c.check(checkEvery << c.shift); err != nil {
					return err
				}
			}
			var err error
			if chunk, err = c.room(1 << c.shift); err != nil {
				return err
			}
		}
		c.data = append(c.data, chunk[:0])
	}
	last := slices.Grow(c.data[len(c.data)-1], c.width)
	n := len(last)
	last = last[:n+c.width]
	for j, v := range x {
		last[n+j] = T(v)
	}
	c.data[len(c.data)-1] = last
	c.rows++
	return nil
}

// resize makes room for the given number of rows of zeros.
func (c *chunks[T]) resize(rows int) error {
	c.data, c.files, c.rows = nil, nil, 0
	if err := c.check(rows); err != nil {
		return err
	}
	c.rows = rows
	for at := 0; at < rows; at += 1 << c.shift {
		chunk, err := c.room(min(1<<c.shift, rows-at))
		if err != nil {
			return err
		}
		c.data = append(c.data, chunk)
	}
	return nil
}

func (c *chunks[T]) row(i int) []T {
	at := (i & (1<<c.shift - 1)) * c.width
	return c.data[i>>c.shift][at:][:c.width]
}

func (c *chunks[T]) get(dst []float64, i int) {
	if own, ok := any(c).(*chunks[float64]); ok {
		copy(dst, own.row(i))
	} else {
		for j, v := range c.row(i) {
			dst[j] = float64(v)
		}
	}
	runtime.KeepAlive(c)
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
	runtime.KeepAlive(c)
}

// store is the rows of a table in either storage.
type store interface {
	add(x []float64) error
	resize(rows int) error
	get(dst []float64, i int)
	put(at int, run []float64)
}

// fits reports whether a finite v is finite as float32, too: it is below the middle
// between the largest float32 and what would follow.
func fits(v float64) bool {
	const limit = 0x1.ffffffp127
	return v < limit && v > -limit
}
