// Package mixedmodel has the arithmetic of one task in a linear mixed model, for those who fit
// such models and for those who add tasks to them.
package mixedmodel

import (
	"sync"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// A Task is what a Gaussian model needs of the rows of one: as many rows as there
// are, or as features if those are fewer, with the same Z'Z and Z'y.
type Task struct {
	Z    []float64 // m x w
	Y    []float64 // m
	Rest float64   // y'y less that of Y
	Rows int       // that it was made of
}

// newTask returns a task of m rows of w features, in one piece of memory: there may be millions of tasks.
func newTask(m, w int) Task { return taskIn(make([]float64, m*(w+1)), m, w) }

// taskIn is newTask in the given memory.
func taskIn(z []float64, m, w int) Task { return Task{Z: z[: m*w : m*w], Y: z[m*w:]} }

// blockRows is the number of rows that are turned into a triangle at once.
const blockRows = 256

// A Compressor collects the rows of one task after another, of w features and, last, the target.
// Rows are read once: what follows takes as long for a million of them as for a few.
type Compressor struct {
	w         int
	rows      []float64
	n, seen   int // rows that are kept, and rows since the last task
	tau, work []float64
}

// NewCompressor returns one for w features.
func NewCompressor(w int) *Compressor {
	return &Compressor{w: w, tau: make([]float64, w+1), work: make([]float64, 64*(w+1))}
}

// Next returns memory for one more row, of w + 1 entries.
func (c *Compressor) Next() []float64 {
	s := c.w + 1
	if c.n == s+blockRows {
		c.triangle()
	}
	c.n++
	c.seen++
	if need := c.n * s; need > len(c.rows) {
		c.rows = append(c.rows, make([]float64, min(max(need, len(c.rows)), (s+blockRows)*s-len(c.rows)))...)
	}
	return c.rows[(c.n-1)*s:][:s]
}

// triangle replaces the rows by the R of their QR factorisation.
func (c *Compressor) triangle() {
	s := c.w + 1
	n := min(c.n, s)
	lapack64.Geqrf(blas64.General{Rows: c.n, Cols: s, Stride: s, Data: c.rows}, c.tau[:n], c.work, len(c.work))
	for i := range n {
		clear(c.rows[i*s : i*s+i])
	}
	c.n = n
}

// Task returns the task of the rows since the last call.
func (c *Compressor) Task() *Task {
	if c.seen > c.w {
		c.triangle()
	}
	m, s := min(c.n, c.w), c.w+1
	t := newTask(m, c.w)
	t.Rows = c.seen
	for i := range m {
		copy(t.Z[i*c.w:][:c.w], c.rows[i*s:])
		t.Y[i] = c.rows[i*s+c.w]
	}
	if c.n > m {
		rest := c.rows[m*s+c.w]
		t.Rest = rest * rest
	}
	c.n, c.seen = 0, 0
	return &t
}

// A Scratch is memory for what is computed on the way to a result: there may be millions of tasks, and
// nothing is left of it between them.
type Scratch struct {
	all  []float64
	used int
}

var scratches = sync.Pool{New: func() any { return new(Scratch) }}

// GetScratch returns one for so many numbers in all. Its owner hands it back by Put.
func GetScratch(n int) *Scratch {
	s := scratches.Get().(*Scratch)
	if s.used = 0; len(s.all) < n {
		s.all = make([]float64, n)
	}
	return s
}

// Take returns n of its numbers, of any value.
func (s *Scratch) Take(n int) []float64 {
	s.used += n
	return s.all[s.used-n : s.used : s.used]
}

// Put ends the use of all that was taken.
func (s *Scratch) Put() { scratches.Put(s) }
