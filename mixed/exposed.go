package mixed

import (
	"context"
	"math"
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
	dependent = 1e-13
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

// set sets the factor to the factor of a symmetric matrix of equal size, which it overwrites and keeps.
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

// coordinates returns the coordinates of rows in the basis of the columns, in the memory of u.
func (f *factor) coordinates(u []float64, x blas64.General) blas64.General {
	rank := len(f.pivots)
	out := dense.General(x.Rows, rank, u[:x.Rows*rank])
	for i := range x.Rows {
		f.pick(out.Data[i*rank:][:rank], x.Data[i*x.Stride:][:x.Cols])
	}
	dense.Trsm(blas.Right, blas.NoTrans, 1, f.r, out)
	return out
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
	var list []int
	u, rank := make([]float64, m.block()*len(f.pivots)), len(f.pivots)
	err = m.eachWeighted(ctx, func(from int, x blas64.General) {
		coordinates := f.coordinates(u, x)
		for i := range x.Rows {
			if row := coordinates.Data[i*rank:][:rank]; rounded.Dot(row, row) > exposedShare {
				list = append(list, from+i)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	more, err := m.departing(ctx, f, least)
	list = append(list, more...)
	slices.Sort(list)
	return slices.Compact(list), err
}
