package mixed

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// A seed grows to the rows where some combination of columns is not 0.
type seed struct {
	rows []int
	u    [][]float64 // the coordinates of its rows in an orthonormal basis of the columns
	off  []int       // rows where its combination is not 0, fewer than the limit; nil: there are more
	next int         // the row beside its own where the combination is largest; -1: none
	most float64     // its size there
}

// aim adds to column k of directions, in the basis of the columns, the combination of length 1 with the
// largest share of its squares in the rows of the seed.
func (s *seed) aim(directions blas64.General, k int) {
	n := len(s.rows)
	products := make([]float64, n*n)
	for i := range n {
		for j := range n {
			products[i*n+j] = rounded.Dot(s.u[i], s.u[j])
		}
	}
	values, _ := dense.Eigen(n, products)
	for i := range n {
		factor := products[i*n+n-1] / math.Sqrt(values[n-1])
		for j, v := range s.u[i] {
			directions.Data[j*directions.Stride+k] += float64(factor * v)
		}
	}
	s.off, s.next, s.most = make([]int, 0, n+1), -1, 0
}

// note adds what the combination of the seed is in a row.
func (s *seed) note(row int, v float64, least int) {
	if v = math.Abs(v); v <= departs {
		return
	}
	if s.off != nil {
		if s.off = append(s.off, row); len(s.off) >= least {
			s.off = nil
		}
	}
	if v > s.most && !slices.Contains(s.rows, row) {
		s.next, s.most = row, v
	}
}

// grown returns the rows, fewer than least, of all groups where a combination of columns is 0 in all other
// rows; f is the factor of the weighted products. One row of such a group has at least 1/(least - 1) of the
// squares of the combination, and so at least that leverage, the square of the length of its coordinates. The
// group grows from it by the row where the combination with the largest share in the group is largest. Unlike
// samples of rows this also finds combinations of columns that are 0 in nearly all rows.
func (m *matrix) grown(ctx context.Context, f *factor, least int) (list []int, err error) {
	if least < 3 {
		return nil, nil
	}
	var seeds []*seed
	known := map[int][]float64{} // coordinates of rows of seeds
	err = m.eachCoordinates(ctx, f, func(from int, u blas64.General) {
		for i := range u.Rows {
			if own := u.Data[i*u.Stride:][:u.Cols]; rounded.Dot(own, own) >= 1/float64(least-1) {
				known[from+i] = slices.Clone(own)
				seeds = append(seeds, &seed{next: from + i})
			}
		}
	})
	for len(seeds) > 0 && err == nil {
		for _, s := range seeds {
			s.rows, s.u = append(s.rows, s.next), append(s.u, known[s.next])
		}
		if err = m.grow(ctx, f, seeds, least); err != nil {
			break
		}
		left := seeds[:0]
		for _, s := range seeds {
			if s.off != nil {
				list = append(list, s.off...)
			} else if len(s.rows) < least-1 && s.next >= 0 {
				left = append(left, s)
			}
		}
		seeds = left
		if len(list) > 0 {
			break
		}
		err = m.readNext(ctx, f, seeds, known)
	}
	return list, err
}

// grow finds, for the combination of every seed, the rows where it is not 0, and where it is largest.
func (m *matrix) grow(ctx context.Context, f *factor, seeds []*seed, least int) error {
	n, rank := len(seeds), len(f.pivots)
	directions := dense.General(rank, n, make([]float64, rank*n))
	for k, s := range seeds {
		s.aim(directions, k)
	}
	values := make([]float64, m.block()*n)
	return m.eachCoordinates(ctx, f, func(from int, u blas64.General) {
		v := dense.General(u.Rows, n, values[:u.Rows*n])
		dense.Gemm(blas.NoTrans, blas.NoTrans, 1, u, directions, 0, v)
		for i := range u.Rows {
			for k, s := range seeds {
				s.note(from+i, v.Data[i*n+k], least)
			}
		}
	})
}

// readNext adds the coordinates of the next rows of seeds to the known ones.
func (m *matrix) readNext(ctx context.Context, f *factor, seeds []*seed, known map[int][]float64) error {
	wanted := map[int]bool{}
	for _, s := range seeds {
		wanted[s.next] = true
	}
	return m.eachCoordinates(ctx, f, func(from int, u blas64.General) {
		for i := range u.Rows {
			if wanted[from+i] && known[from+i] == nil {
				known[from+i] = slices.Clone(u.Data[i*u.Stride:][:u.Cols])
			}
		}
	})
}

// eachCoordinates calls f with the coordinates of all rows, times the roots of their weights, in the basis of
// the columns, some rows at a time; u is valid until f returns.
func (m *matrix) eachCoordinates(ctx context.Context, f *factor, call func(from int, u blas64.General)) error {
	p, rank := m.columns, len(f.pivots)
	picked := make([]float64, m.block()*rank)
	return m.eachWeighted(ctx, func(from int, x blas64.General) {
		u := dense.General(x.Rows, rank, picked[:x.Rows*rank])
		for i := range x.Rows {
			f.pick(u.Data[i*rank:][:rank], x.Data[i*p:][:p])
		}
		dense.Trsm(blas.Right, blas.NoTrans, 1, f.r, u)
		call(from, u)
	})
}
