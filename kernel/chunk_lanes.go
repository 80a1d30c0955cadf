package kernel

import (
	"cmp"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/leastsq"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
)

// Tiny tasks are computed in blocks, one in each lane of a vector: calls, and the latency of their least
// squares, would take most of their time. They have at most laneRows samples, laneFeatures features and
// tile.LaneColumns columns. Blocks are a second copy of the samples: tasks with more than laneSize entries
// of X are copied only if the whole group fits into laneBytes. Tasks with more than laneMost entries are
// never copied: from cache they would gain 10 %, from memory lose 30 %. Samples in Float32, which save
// memory, are not copied.
const (
	laneRows     = 32
	laneFeatures = 64
	laneSize     = 512
	laneMost     = 1024
	laneBytes    = 1 << 20
	// The blocks of a chunk may be at most laneWaste times as large as the samples of its tasks: a task with
	// fewer samples than another one of its block, and a lane without a task, leave room.
	laneWaste = 1.5
	// Fewer tasks than a laneFew'th of laneTasks, in a block of as many lanes, take longer than one by one.
	laneFew = 3
	// laneTasks is how many tasks are taken or left together, so that all tiers compute the same: a block of
	// AVX-512, or two blocks.
	laneTasks = 8
)

// A laneChunk computes tiny tasks in blocks, with a copy of their samples; see tile.MulBasisLanes.
type laneChunk struct {
	partial
	oneWorker
	count, d int         // lanes, and features, with zeros up to tile.LaneFeatures
	blocks   []laneBlock // by the number of rows
	rest     []int       // tasks that would not fill a block, with capacity for all
	bounds   leastsq.LaneBounds
	a, work  int // lengths of the scratch memory
}

// A laneBlock is a number of tasks, at most one a lane.
type laneBlock struct {
	tasks []int
	rows  int       // the most samples of a task
	x     []float64 // d numbers a row, and a float64 a lane
}

// laneWork is the scratch memory of a step of blocks.
type laneWork struct {
	a    []float64 // [X U y] of a block, with the rows of a ridge
	work []float64 // of tile.LeastSquaresLanes
}

// fitsLanes reports whether the tasks are tiny for a basis of rank r.
func (t *Tasks) fitsLanes(r int) bool {
	entries := t.maxRows * t.d
	return tile.Lanes() > 0 && t.storage == Float64 && r <= tile.LaneColumns &&
		t.maxRows <= laneRows && t.d <= laneFeatures &&
		(entries <= laneSize || entries <= laneMost && t.Bytes() <= laneBytes)
}

// newLaneChunk returns a chunk of tasks lo to hi of t. It returns nil if these are not tiny, if some have
// fewer samples than r, or if their numbers of samples differ too much.
func newLaneChunk(t *Tasks, lo, hi, r int) *laneChunk {
	if !t.fitsLanes(r) {
		return nil
	}
	c := &laneChunk{count: tile.Lanes(), d: max(t.d, tile.LaneFeatures), rest: make([]int, 0, hi-lo)}
	order := make([]int, hi-lo)
	for i := range order {
		order[i] = lo + i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.rows[a], t.rows[b]) })
	// Samples, rows that they take in blocks, and the most samples before Compressed.
	total, padded, original := 0, 0, 0
	for tasks := range slices.Chunk(order, laneTasks) {
		if len(tasks)*laneFew < laneTasks {
			c.rest = append(c.rest, tasks...)
			break
		}
		for _, task := range tasks {
			total += t.rows[task]
			original = max(original, t.original(task))
		}
		padded += t.rows[tasks[len(tasks)-1]] * laneTasks
		for block := range slices.Chunk(tasks, c.count) {
			rows := t.rows[block[len(block)-1]]
			c.blocks = append(c.blocks, laneBlock{tasks: block, rows: max(rows, tile.LaneRows)})
		}
	}
	if total == 0 || t.rows[order[0]] < r || float64(padded) > laneWaste*float64(total) {
		return nil
	}
	c.partial = newPartial(t, lo, hi, r)
	rows := c.blocks[len(c.blocks)-1].rows + r
	c.bounds = leastsq.NewLaneBounds(rows, r, leastsq.Tolerance(max(original+r, rows), r))
	c.a, c.work = rows*tile.LaneStride(r)*c.count, tile.LaneWork(r)
	c.copySamples(t)
	return c
}

// copySamples copies the samples of the tasks to the blocks.
func (c *laneChunk) copySamples(t *Tasks) {
	size := 0
	for _, b := range c.blocks {
		size += b.rows * c.d * c.count
	}
	x, row := alignedFloat64(size), make([]float64, t.d)
	for k := range c.blocks {
		b := &c.blocks[k]
		b.x, x = x[:b.rows*c.d*c.count], x[b.rows*c.d*c.count:]
		for l, task := range b.tasks {
			for i := range t.rows[task] {
				for j, v := range t.Row(row, task, i) {
					b.x[(i*c.d+j)*c.count+l] = v
				}
			}
		}
	}
}

func (c *laneChunk) needs() size {
	s := c.size()
	s.scratch = tile.Pad(c.a) + tile.Pad(c.work)
	return s
}

// solve computes the blocks. It leaves tasks whose least squares a block cannot solve to the tiles, and
// steps at given coefficients.
func (c *laneChunk) solve(j *job) {
	if !j.work.coefficients {
		j.tiles(&c.partial, c.lo, c.hi)
		return
	}
	g, u, ws := j.g, j.u, j.ws
	r, left, scratch := g.r, c.rest, ws.scratch
	k := laneWork{a: carve(&scratch, c.a), work: carve(&scratch, c.work)}
	clear(k.work[:tile.LaneZeros()]) // chunks of other kinds write there, too
	for t := range batch {
		clear(ws.v[t*ws.ldv+u.d:][:tile.Pad(u.d)-u.d])
	}
	waiting := 0 // tasks whose v_t and b_t are in ws.v and ws.outer
	for i := range c.blocks {
		b := &c.blocks[i]
		x := c.solveBlock(b, j, k)
		if j.work.gradient {
			e, row := k.a[r*c.count:], tile.LaneStride(r)*c.count
			tile.MulTransposedLanes(ws.v[waiting*ws.ldv:], ws.ldv, b.x, e, row, b.rows, c.d)
		}
		for l, task := range b.tasks {
			outer, own := ws.outer[(waiting+l)*r:][:r], g.b[task*r:][:r]
			if !c.bounds.Sound(&x, l) {
				left = append(left, task)
				clear(outer)
				clear(ws.v[(waiting+l)*ws.ldv:][:c.d])
				continue
			}
			for k, at := 0, l; k < r; k, at = k+1, at+x.Stride {
				outer[k], own[k] = -x.B[at], x.B[at]
			}
			g.status[task] = lsq.OK
			c.objective += x.Squares[l]
		}
		waiting += len(b.tasks)
		if j.work.gradient && (waiting+c.count > batch || i == len(c.blocks)-1) {
			tile.RankUpdate(c.grad.data, c.grad.stride, ws.v, ws.ldv, ws.outer, r, waiting, u.d, r)
		}
		waiting %= batch
	}
	for _, task := range left {
		j.tiles(&c.partial, task, task+1)
	}
}

// solveBlock solves the least squares of a block. It leaves y - A b in the last column of w.a.
func (c *laneChunk) solveBlock(b *laneBlock, j *job, w laneWork) tile.LaneResults {
	r, t, u := j.g.r, j.g.tasks, j.u
	m, row, a := b.rows, tile.LaneStride(r)*c.count, w.a
	tile.MulBasisLanes(a, row, b.x, u.data, u.stride, b.rows, c.d, r)
	for l, task := range b.tasks {
		at := r*c.count + l
		for _, v := range t.y[t.first[task]:][:t.rows[task]] {
			a[at] = v
			at += row
		}
		for ; at < b.rows*row; at += row {
			a[at] = 0
		}
	}
	if j.ridge > 0 {
		below, root := a[m*row:][:r*row], math.Sqrt(j.ridge)
		m += r
		clear(below)
		for k := range r {
			for l := range c.count {
				below[k*row+k*c.count+l] = root
			}
		}
	}
	return tile.LeastSquaresLanes(a, m, b.rows, r, w.work)
}
