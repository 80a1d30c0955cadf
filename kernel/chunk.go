package kernel

import (
	"time"

	"github.com/difalt/difalt/internal/tile"
)

// A chunk is a run of tasks whose gradients are summed in order. NewGroup cuts the tasks into chunks and
// decides the kind of each chunk: tileChunk, laneChunk, sharedTask, gonumChunk or openBLASChunk. The data
// alone decide, and the sums of the chunks are added in order, so that results do not depend on the number of
// workers.
//
// A call computes a chunk in three phases: multiply for every part, solve once, gradient for every part.
// Most kinds have no parts: one worker does everything in solve, task after task, while the samples are in
// its cache.
type chunk interface {
	// sums returns the chunk's share of the results.
	sums() *partial
	// needs returns the scratch memory with which a worker computes the chunk.
	needs() size
	// parts returns into how many parts the workers divide the chunk, 0 if one worker computes it alone.
	parts() int
	// multiply computes X U of a part (Alg. 3, line 8).
	multiply(j *job, part int)
	// solve sets the coefficients and statuses of the tasks (Alg. 3, line 8). A chunk without parts then
	// computes its sums (lines 9 to 11).
	solve(j *job)
	// gradient computes the sums of a part (Alg. 3, lines 9 to 11).
	gradient(j *job, part int)
}

// A partial is the share that tasks lo to hi have of the results of a call.
type partial struct {
	lo, hi    int
	rows      int // the most rows of a task
	grad      *Basis
	objective float64
	elapsed   time.Duration
}

func newPartial(t *Tasks, lo, hi, r int) partial {
	p := partial{lo: lo, hi: hi, grad: NewBasis(t.d, r)}
	for _, n := range t.rows[lo:hi] {
		p.rows = max(p.rows, n)
	}
	return p
}

func (p *partial) sums() *partial { return p }

// oneWorker has the methods of chunks without parts.
type oneWorker struct{}

func (oneWorker) parts() int         { return 0 }
func (oneWorker) multiply(*job, int) {}
func (oneWorker) gradient(*job, int) {}

// work is what a call computes.
type work struct{ coefficients, gradient bool }

var (
	step     = work{coefficients: true, gradient: true}
	minimize = work{coefficients: true}
	descend  = work{gradient: true} // at given coefficients
)

// A job holds the arguments of a call while one worker computes chunks of a group.
type job struct {
	g     *Group
	u     *Basis
	ridge float64
	work  work
	ws    *Workspace
	// cached reports that the samples stay in the second-level caches of the workers: nothing is prefetched.
	cached bool
}

// take sets x to rows lo to hi of a task, and plans what is prefetched.
func (j *job) take(x *samples, task, lo, hi int) {
	x.take(j.g.tasks, task, lo, hi)
	if !j.cached {
		x.plan(j.g.tasks, task, lo, hi, j.g.r)
	}
}

const (
	maxChunks = 64
	// The samples of a chunk are at least chunkRatio times as large as its partial gradient. So the sums of
	// the partial gradients take less than one per cent of the time.
	chunkRatio = 128
	// A group of at least chunkMultiple batches of tasks has a multiple of chunkMultiple chunks, which two,
	// four or eight workers can share evenly.
	chunkMultiple = 8
)

// chunkCount returns into how many chunks to divide the tasks for a basis of rank r.
func (t *Tasks) chunkCount(r int) int {
	n := min(max(t.total*t.stride/(chunkRatio*tile.Stride(t.d)*r), 1), maxChunks, max(t.Len(), 1))
	if t.Len() >= chunkMultiple*batch {
		n = max(n/chunkMultiple*chunkMultiple, chunkMultiple)
	}
	return n
}

// cut divides the tasks into chunks of about equal numbers of samples, and shared tasks.
func cut(t *Tasks, r int) (chunks []chunk) {
	isShared := func(task int) bool { return inUse.shares && t.isShared(task, r) }
	n, multiple := t.chunkCount(r), 1
	if t.fitsLanes(r) {
		multiple = batch
	}
	lo, done := 0, 0 // the first task without a chunk, and the samples of the tasks before it
	for share := 1; lo < t.Len(); share++ {
		hi := lo
		for hi < t.Len() && !isShared(hi) && (share >= n || done*n < share*t.total || (hi-lo)%multiple != 0) {
			done += t.rows[hi]
			hi++
		}
		if hi > lo {
			chunks = append(chunks, inUse.newChunk(t, lo, hi, r))
		}
		lo = hi
		if lo < t.Len() && isShared(lo) {
			chunks = append(chunks, newSharedTask(t, lo, r))
			done += t.rows[lo]
			lo++
		}
	}
	if len(chunks) == 0 {
		chunks = append(chunks, inUse.newChunk(t, 0, 0, r))
	}
	return chunks
}
