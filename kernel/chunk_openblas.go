//go:build openblas

package kernel

import (
	"unsafe"

	openblas "github.com/difalt/difalt/cgo"
	"github.com/difalt/difalt/kernel/lsq"
)

const build = openBLASName

// library returns the version of OpenBLAS, "" in builds without it.
func library() string { return openblas.Version() }

// openBLASBackend returns the backend that computes a chunk in one call to C over OpenBLAS and LAPACK. It
// limits OpenBLAS to one thread: the kernel runs one chunk of tasks a thread.
func openBLASBackend() backend {
	openblas.SingleThread()
	return backend{name: openBLASName, newChunk: newOpenBLASChunk}
}

// An openBLASChunk computes its tasks in one call to C. It leaves to the tiles all but whole steps, and tasks
// whose least squares needs more than a QR factorisation.
type openBLASChunk struct {
	partial
	oneWorker
	work int // length of the scratch memory
}

func newOpenBLASChunk(t *Tasks, lo, hi, r int) chunk {
	c := &openBLASChunk{partial: newPartial(t, lo, hi, r)}
	c.work = openblas.WorkLen(max(c.rows, 1), t.stride, r)
	return c
}

func (c *openBLASChunk) needs() size {
	s := c.size()
	s.scratch = c.work
	return s
}

func (c *openBLASChunk) solve(j *job) {
	if j.work != step || c.lo == c.hi {
		j.tiles(&c.partial, c.lo, c.hi)
		return
	}
	g, t := j.g, j.g.tasks
	s := openblas.Tasks{
		X64: t.x64, X32: t.x32, Ldx: t.stride, Y: t.y, First: t.first, Count: t.rows, Original: t.before,
		MaxRows: max(c.rows, 1), U: j.u.matrix(t.d), B: g.b, Status: (*uint8)(unsafe.SliceData(g.status)),
		Grad: c.grad.matrix(t.d), Ridge: j.ridge, Work: j.ws.scratch[:c.work],
	}
	c.objective += s.Step(c.lo, c.hi)
	for task := c.lo; task < c.hi; task++ {
		if g.status[task] == lsq.Status(openblas.Left) {
			j.tiles(&c.partial, task, task+1)
		}
	}
}
