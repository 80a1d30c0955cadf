package kernel

import (
	"cmp"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/lstsq"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
)

// Tiny tasks are computed in blocks, one in each lane of a vector: calls, and the latency of their least
// squares, would take most of their time. They have at most laneRows samples, laneFeatures features and
// tile.LaneColumns columns. Blocks are a second copy of the samples: tasks of more than laneSize entries of X
// are copied only in groups of at most laneBytes, and those of more than laneMost, which gain a tenth from
// cache and lose a third from memory, never. Samples in Float32, which save memory, are not copied.
const (
	laneRows     = 32
	laneFeatures = 64
	laneSize     = 512
	laneMost     = 1024
	laneBytes    = 1 << 20
	// The blocks of a chunk may be at most laneWaste times as large as the samples of its tasks: tasks of
	// fewer samples than others of their block, and lanes without a task, leave room.
	laneWaste = 1.5
	// A block of fewer tasks than a laneFew'th of its lanes takes longer than these tasks one by one.
	laneFew = 3
)

// lanes are the tasks of a chunk in blocks, with a copy of their samples; see tile.MulBasisLanes.
type lanes struct {
	of       *Tasks
	count, d int         // lanes, and features, with zeros up to tile.LaneFeatures
	blocks   []laneBlock // by the number of rows
	rest     []int       // tasks that would not fill a block, with capacity for all
	bounds   lstsq.LaneBounds
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

func newLaneWork(maxSamples, r int) laneWork {
	n, r := max(min(maxSamples, laneRows), tile.LaneRows), min(r, tile.LaneColumns)
	return laneWork{alignedFloat64((n + r) * tile.LaneStride(r) * tile.Lanes()), alignedFloat64(tile.LaneWork(r))}
}

// tiny reports whether the tasks are computed in lanes on a basis of rank r.
func (t *Tasks) tiny(r int) bool {
	return tile.Lanes() > 0 && chosenName == "" && t.storage == Float64 && r <= tile.LaneColumns &&
		t.maxRows <= laneRows && t.d <= laneFeatures && (t.maxRows*t.d <= laneSize || t.maxRows*t.d <= laneMost && t.Bytes() <= laneBytes)
}

// newLanes returns the blocks of tasks lo to hi of t, or nil if these are not tiny, if some have fewer
// samples than r, or if their numbers of samples differ too much.
func newLanes(t *Tasks, lo, hi, r int) *lanes {
	if !t.tiny(r) {
		return nil
	}
	k := &lanes{of: t, count: tile.Lanes(), d: max(t.d, tile.LaneFeatures), rest: make([]int, 0, hi-lo)}
	order := make([]int, hi-lo)
	for i := range order {
		order[i] = lo + i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.rows[a], t.rows[b]) })
	total, padded, size := 0, 0, 0 // samples, those that fit the blocks, and rows of blocks
	for tasks := range slices.Chunk(order, k.count) {
		if len(tasks)*laneFew < k.count {
			k.rest = append(k.rest, tasks...)
			break
		}
		for _, task := range tasks {
			total += t.rows[task]
		}
		rows := t.rows[tasks[len(tasks)-1]]
		padded += rows * k.count
		rows = max(rows, tile.LaneRows)
		size += rows
		k.blocks = append(k.blocks, laneBlock{tasks: tasks, rows: rows})
	}
	if total == 0 || t.rows[order[0]] < r || float64(padded) > laneWaste*float64(total) {
		return nil
	}
	k.bounds = lstsq.NewLaneBounds(k.blocks[len(k.blocks)-1].rows+r, r)
	x, row := alignedFloat64(size*k.d*k.count), make([]float64, t.d)
	for i := range k.blocks {
		b := &k.blocks[i]
		b.x, x = x[:b.rows*k.d*k.count], x[b.rows*k.d*k.count:]
		for l, task := range b.tasks {
			for i := range t.rows[task] {
				for j, v := range t.Row(row, task, i) {
					b.x[(i*k.d+j)*k.count+l] = v
				}
			}
		}
	}
	return k
}

// inLanes reports whether the blocks of a chunk have the samples of the present step, maybe with other
// responses.
func (g *Group) inLanes(c *chunk) bool {
	k := c.lanes
	return k != nil && k.count == tile.Lanes() && g.fit == g.grad && &g.fit.rows[0] == &k.of.rows[0]
}

// stepLanes is tiles.step for a chunk in blocks. It leaves tasks whose least squares a block cannot solve to
// stepTiles, so that every status but OK, and every solution of minimum norm, is theirs.
func (g *Group) stepLanes(c *chunk, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	k, r, left := c.lanes, g.r, c.lanes.rest
	for t := range batch {
		clear(ws.v[t*ws.ldv+u.d:][:tile.Pad(u.d)-u.d])
	}
	n := 0 // tasks whose v_t and b_t wait in ws.v and ws.outer
	for i := range k.blocks {
		b := &k.blocks[i]
		x := g.solveBlock(b, k, u, ridge, ws)
		if gradient {
			e, row := ws.lanes.a[r*k.count:], tile.LaneStride(r)*k.count
			tile.MulTransposedLanes(ws.v[n*ws.ldv:], ws.ldv, b.x, e, row, b.rows, k.d)
		}
		for l, task := range b.tasks {
			outer, own := ws.outer[(n+l)*r:][:r], g.B[task*r:][:r]
			if !k.bounds.Sound(&x, l) {
				left = append(left, task)
				clear(outer)
				clear(ws.v[(n+l)*ws.ldv:][:k.d])
				continue
			}
			for j, at := 0, l; j < r; j, at = j+1, at+x.Stride {
				outer[j], own[j] = -x.B[at], x.B[at]
			}
			g.Status[task] = lsq.OK
			c.objective += x.Squares[l]
		}
		if n += len(b.tasks); gradient && (n+k.count > batch || i == len(k.blocks)-1) {
			tile.RankUpdate(c.grad.data, c.grad.stride, ws.v, ws.ldv, ws.outer, r, n, u.d, r)
		}
		n %= batch
	}
	for _, task := range left {
		g.stepTiles(c, task, task+1, u, ridge, ws, gradient)
	}
}

// solveBlock solves the least squares of a block. It leaves y - A b in the last column of ws.lanes.a.
func (g *Group) solveBlock(b *laneBlock, k *lanes, u *Basis, ridge float64, ws *Workspace) tile.LaneResults {
	r, m, row, a := g.r, b.rows, tile.LaneStride(g.r)*k.count, ws.lanes.a
	tile.MulBasisLanes(a, row, b.x, u.data, u.stride, b.rows, k.d, r)
	for l, task := range b.tasks {
		at := r*k.count + l
		for _, v := range g.fit.y[g.fit.first[task]:][:g.fit.rows[task]] {
			a[at] = v
			at += row
		}
		for ; at < b.rows*row; at += row {
			a[at] = 0
		}
	}
	if ridge > 0 {
		below, root := a[m*row:][:r*row], math.Sqrt(ridge)
		m += r
		clear(below)
		for j := range r {
			for l := range k.count {
				below[j*row+j*k.count+l] = root
			}
		}
	}
	return tile.LeastSquaresLanes(a, m, b.rows, r, ws.lanes.work)
}
