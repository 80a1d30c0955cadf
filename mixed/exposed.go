package mixed

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

const (
	// exposedShare bounds the share of a row in the squares of a combination of columns. From this share
	// on the row is exposed: the combination shows every other column of the row to within sqrt(1/share
	// - 1) of a deviation.
	exposedShare = 0.99
	// dependent is the share of a column's squares below which it counts as a combination of others.
	// departs is the least distance, in deviations, of a row that differs from that combination.
	dependent, departs = 1e-13, 1e-5
	// missedOnce is the chance at most that a combination which few rows break is not found.
	missedOnce  = 1e-3
	mostSamples = 600
)

// A matrix is read by rows: own rows, standardised, with a constant.
type matrix struct {
	rows, columns int
	read          func(dst []float64, row int)
	weights       []float64 // of the rows, of mean 1; nil: 1
}

// weightsOf returns the weights of rows over their mean; nil where the table has none.
func (g *guard) weightsOf(rows []int32) []float64 {
	if g.rows.in.Table.Weights() == nil {
		return nil
	}
	list := make([]float64, len(rows))
	for k, i := range rows {
		list[k] = g.bound(g.rows.in.weight(int(i)))
	}
	floats.Scale(1/rounded.Mean(list), list)
	return list
}

// eachWeighted is eachBlock for rows that are multiplied by the roots of their weights, as they are in sums
// of products.
func (m *matrix) eachWeighted(ctx context.Context, f func(from int, x blas64.General)) error {
	return m.eachBlock(ctx, func(from int, x blas64.General) {
		if m.weights != nil {
			for i := range x.Rows {
				floats.Scale(math.Sqrt(m.weights[from+i]), x.Data[i*x.Stride:][:x.Cols])
			}
		}
		f(from, x)
	})
}

// block returns the largest number of rows that eachBlock has at a time.
func (m *matrix) block() int { return min(batch, m.rows) }

// eachBlock calls f with all rows, some at a time; x is valid until f returns.
func (m *matrix) eachBlock(ctx context.Context, f func(from int, x blas64.General)) error {
	x := make([]float64, m.block()*m.columns)
	for from := 0; from < m.rows; from += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(m.block(), m.rows-from)
		for i := range n {
			m.read(x[i*m.columns:][:m.columns], from+i)
		}
		f(from, dense.General(n, m.columns, x[:n*m.columns]))
	}
	return nil
}

// standardise has read return columns of mean 0 and deviation 1, and a constant as the last one. Missing
// values become 0, and the columns that are missing in some rows have another one beside them, which is 1
// there: what a missing value counts as follows from totals.
func (m *matrix) standardise(ctx context.Context) error {
	p, raw := m.columns, m.read
	mean, size, n := make([]float64, p), make([]float64, p), make([]float64, p)
	for _, pass := range []bool{false, true} {
		err := m.eachBlock(ctx, func(_ int, x blas64.General) {
			for i, v := range x.Data {
				switch j := i % p; {
				case math.IsNaN(v):
				case pass:
					size[j] += square(v-mean[j]) / n[j]
				default:
					n[j]++
					mean[j] += (v - mean[j]) / n[j]
				}
			}
		})
		if err != nil {
			return err
		}
	}
	var partial []int
	for j := range p {
		if size[j] = math.Sqrt(size[j]); !(size[j] > constantSD*math.Abs(mean[j])) {
			size[j] = math.Inf(1)
		}
		if n[j] > 0 && int(n[j]) < m.rows {
			partial = append(partial, j)
		}
	}
	m.columns = p + len(partial) + 1
	m.read = func(dst []float64, row int) {
		x := dst[:p]
		raw(x, row)
		for k, j := range partial {
			dst[p+k] = 0
			if math.IsNaN(x[j]) {
				dst[p+k] = 1
			}
		}
		for j, v := range x {
			x[j] = 0
			if !math.IsNaN(v) {
				x[j] = (v - mean[j]) / size[j]
			}
		}
		dst[len(dst)-1] = 1
	}
	return nil
}

// remembered is the largest number of entries of a matrix that are kept, 8 MiB, since every sample reads
// them.
const remembered = 1 << 20

// remember reads all rows once if they are few, and keeps them.
func (m *matrix) remember(ctx context.Context) error {
	if m.rows*m.columns > remembered {
		return nil
	}
	p, all := m.columns, make([]float64, m.rows*m.columns)
	err := m.eachBlock(ctx, func(from int, x blas64.General) { copy(all[from*p:], x.Data) })
	m.read = func(dst []float64, row int) { copy(dst, all[row*p:][:p]) }
	return err
}

// A factor is the Cholesky factor R of the products of independent columns, R'R = X'X.
type factor struct {
	r      blas64.Triangular
	pivots []int // the independent columns
	others []int // the dependent columns, which are combinations of the independent ones with factors
	by     blas64.General
	order  []int     // pivots and others
	work   []float64 // of set
}

// factorOf returns the factor of a symmetric p x p matrix, which it overwrites.
func factorOf(g []float64, p int, least float64) *factor {
	f := newFactor(p)
	f.set(g, least)
	return f
}

// newFactor returns a factor of p columns to set.
func newFactor(p int) *factor { return &factor{order: make([]int, p), work: make([]float64, 2*p)} }

// set sets the factor to that of a symmetric matrix of the same size, which it overwrites and keeps.
func (f *factor) set(g []float64, least float64) {
	p, largest := len(f.order), 0.0
	for j := range p {
		largest = max(largest, g[j*p+j])
	}
	r, rank := dense.Pstrf(dense.Symmetric(p, g), f.order, least*largest, f.work)
	f.r, f.pivots, f.others = r, f.order[:rank], f.order[rank:]
	f.r.N = rank
	if rank < p { // X2 = X1 R11^-1 R12
		f.by = blas64.General{Rows: rank, Cols: p - rank, Stride: p, Data: g[rank:]}
		if rank > 0 {
			dense.Trsm(blas.Left, blas.NoTrans, 1, f.r, f.by)
		}
	}
}

// pick sets dst to the entries of a row that belong to the independent columns.
func (f *factor) pick(dst, row []float64) {
	for k, j := range f.pivots {
		dst[k] = row[j]
	}
}

// exposed returns the rows that a combination of the columns shows: rows with nearly all squares of one. If
// a column equals a combination of others in all rows but fewer than least, it returns these rows, too. They
// come in their order; nil for none.
func (m *matrix) exposed(ctx context.Context, least int) ([]int, error) {
	if err := m.standardise(ctx); err != nil || m.rows == 0 {
		return nil, err
	}
	if err := m.remember(ctx); err != nil {
		return nil, err
	}
	p := m.columns
	g := make([]float64, p*p)
	err := m.eachWeighted(ctx, func(_ int, x blas64.General) {
		dense.Syrk(blas.Trans, 1, x, 1, dense.Symmetric(p, g))
	})
	if err != nil {
		return nil, err
	}
	f := factorOf(g, p, dependent)
	rank := len(f.pivots)
	var list []int
	err = m.eachCoordinates(ctx, f, func(from int, u blas64.General) {
		for i := range u.Rows {
			if row := u.Data[i*u.Stride:][:u.Cols]; rounded.Dot(row, row) > exposedShare {
				list = append(list, from+i)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	more, err := m.grown(ctx, f, least)
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	more, err = m.departing(ctx, rank, least)
	list = append(list, more...)
	slices.Sort(list)
	return slices.Compact(list), err
}

// departing returns the rows, fewer than least, where a column differs from a combination of others that it
// equals in all other rows. Such a combination is found in samples of rows that have none of them.
func (m *matrix) departing(ctx context.Context, rank, least int) (list []int, err error) {
	size := 2*m.columns + 10
	if least < 2 || size > m.rows/2 {
		size = m.rows / 2
	}
	if least < 2 || size <= rank {
		return nil, nil
	}
	// The chance of a sample without these rows.
	clean := rounded.Exp(float64(least-1) * rounded.Log1p(-float64(size)/float64(m.rows)))
	samples := min(int(math.Ceil(rounded.Log(missedOnce)/rounded.Log1p(-clean))), mostSamples)
	random, p := rand.New(rand.NewPCG(uint64(m.rows), uint64(m.columns))), m.columns
	x, g, f := make([]float64, size*p), make([]float64, p*p), newFactor(p)
	for range samples {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range size {
			m.read(x[i*p:][:p], random.IntN(m.rows))
		}
		dense.Syrk(blas.Trans, 1, dense.General(size, p, x), 0, dense.Symmetric(p, g))
		f.set(g, dependent)
		if len(f.pivots) < rank {
			if list := m.departingFrom(x, f, least); list != nil {
				return list, nil
			}
		}
	}
	return nil, nil
}

// departingFrom is departing for a sample of rows and the factor of its products.
func (m *matrix) departingFrom(x []float64, f *factor, least int) []int {
	var open []departure
	for k, j := range f.others {
		if !constantIn(x, j, m.columns) { // the rules about single columns are about it
			open = append(open, departure{column: j, by: k})
		}
	}
	return m.firstDeparture(f, open, least)
}

// A departure is a dependent column of a factor, and the rows where it differs from its combination.
type departure struct {
	column, by int
	rows       []int
}

// firstDeparture returns the rows of the first of some columns that departs in some rows, but fewer than
// least; nil for none. It reads every row once.
func (m *matrix) firstDeparture(f *factor, open []departure, least int) []int {
	row := make([]float64, m.columns)
	for i := 0; i < m.rows && len(open) > 0; i++ {
		m.read(row, i)
		left := open[:0]
		for _, d := range open {
			v := row[d.column]
			for a, pivot := range f.pivots {
				v -= float64(f.by.Data[a*f.by.Stride+d.by] * row[pivot])
			}
			if math.Abs(v) > departs {
				d.rows = append(d.rows, i)
			}
			if len(d.rows) < least {
				left = append(left, d)
			}
		}
		open = left
	}
	for _, d := range open {
		if len(d.rows) > 0 {
			return d.rows
		}
	}
	return nil
}

// constantIn reports whether column j of rows of p numbers has one value.
func constantIn(x []float64, j, p int) bool {
	for i := j; i < len(x); i += p {
		if x[i] != x[j] {
			return false
		}
	}
	return true
}
