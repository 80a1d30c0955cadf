package mixed

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// rare reports for every column of a design whether it is rare. By a rare column a member that steers
// strengths could see few own rows alone, fewer than columns. These rows have another value than the usual
// one, or another value than another column, or they break a sum of columns that all other rows follow.
// Beside rare levels the most frequent one of the category is rare, too: 1 less all other levels is the rare
// one. Rare columns have no deviations and no loadings.
func (g *guard) rare(ctx context.Context, d *Design) ([]bool, error) {
	list := make([]bool, d.Width())
	if g == nil || g.LeastLevel == 0 {
		return list, nil
	}
	off, usual := g.offUsual(len(list))
	for j, n := range off {
		list[1+j] = n > 0 && n < len(list)
	}
	for _, t := range g.findTwins(len(list)) {
		list[1+t.column] = true
	}
	own := len(g.counted())
	for _, c := range g.rows.schema.levelPlaces() {
		if !slices.Contains(list[1+c[0]:1+c[1]], true) {
			continue
		}
		frequent, most := c[0], 0
		for j := c[0]; j < c[1]; j++ {
			having := off[j]
			if usual[j] == 1 {
				having = own - off[j]
			}
			if having > most {
				frequent, most = j, having
			}
		}
		list[1+frequent] = true
	}
	return list, g.markCombined(ctx, d, list)
}

// markCombined looks for combinations of columns that are not marked yet which are far from 0 in few own rows
// alone, such as the difference of a column and the sum of others. It marks the column with the largest part
// in each: no combination of the other columns is like it.
func (g *guard) markCombined(ctx context.Context, d *Design, marked []bool) error {
	if d.Axes != nil {
		return nil
	}
	rows, read, row := g.counted(), g.rows.newReader(), make([]float64, len(d.Scale))
	for {
		places := []int{-1} // of the columns that are not marked, in a row; -1 is the constant
		for j, scale := range d.Scale {
			if !marked[1+j] && scale > 0 {
				places = append(places, j)
			}
		}
		p := len(places)
		x := dense.General(len(rows), p, make([]float64, len(rows)*p))
		read.each(rows, func(at int, features []float64) {
			d.standardise(row, features, nil)
			to := x.Data[at*p:][:p]
			to[0] = 1
			for k, j := range places[1:] {
				to[1+k] = row[j]
			}
		})
		at, err := combined(ctx, x, len(marked))
		if at <= 0 || err != nil {
			return err
		}
		marked[1+places[at]] = true
	}
}

const (
	// A combination is far from 0 where it is at least this many times as far as in all other rows.
	farther = 10
	// combinedSteps is the number of steps of a search. With each of them rows near 0 count more.
	combinedSteps = 24
	// A search reads that many rows for each column: those that combinations can single out best, and
	// others.
	topRows, otherRows = 4, 16
	// mostCombined is the largest number of columns that are searched.
	mostCombined = 128
)

// combined returns the column with the largest part in a combination of columns that is far from 0 in fewer
// rows than least, of x by rows, which it overwrites; 0 if it finds none. The first column is the constant.
func combined(ctx context.Context, x blas64.General, least int) (int, error) {
	n, p := x.Rows, x.Cols
	if p > mostCombined {
		return 0, nil
	}
	g := make([]float64, p*p)
	dense.Syrk(blas.Trans, 1, x, 0, dense.Symmetric(p, g))
	f := factorOf(g, p, dependent)
	rank := len(f.pivots)
	u, row := dense.General(n, rank, x.Data[:n*rank]), make([]float64, p) // in the memory of x
	for i := range n {
		copy(row, x.Data[i*p:][:p])
		f.pick(u.Data[i*rank:][:rank], row)
	}
	dense.Trsm(blas.Right, blas.NoTrans, 1, f.r, u)
	s := newCombination(u, least)
	for k, column := range f.pivots {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if column == 0 {
			continue
		}
		clear(s.part)
		s.part[k] = 1
		dense.Trsv(blas.Trans, f.r, dense.Vector(s.part)) // so that part q is the factor of the column
		if !s.search() {
			continue
		}
		dense.Trsv(blas.NoTrans, f.r, dense.Vector(s.q))
		at, most := 0, 0.0
		for k, v := range s.q {
			if f.pivots[k] != 0 && math.Abs(v) > most {
				at, most = f.pivots[k], math.Abs(v)
			}
		}
		return at, nil
	}
	return 0, nil
}

// A combination is one of the columns of u, an orthonormal basis, with factors q.
type combination struct {
	u, some  blas64.General // of all rows, and of those that a search reads
	least    int
	part, q  []float64      // part q is 1
	values   []float64      // of the rows
	largest  []float64      // of the sizes of values, as many as least
	weighted blas64.General // some, by their weights
	a        []float64      // products of these
}

// newCombination returns a search that reads some of the rows: the rows with the longest coordinates, since a
// combination that is 0 in all but few rows has a large share of its squares in one of them, and drawn ones.
func newCombination(u blas64.General, least int) *combination {
	n, rank := u.Rows, u.Cols
	s := &combination{u: u, some: u, least: least, part: make([]float64, rank), q: make([]float64, rank),
		values: make([]float64, n), a: make([]float64, rank*rank)}
	if most := (topRows + otherRows) * rank; n > most {
		order := rand.New(rand.NewPCG(uint64(n), uint64(rank))).Perm(n)
		length := func(i int) float64 { v := u.Data[i*rank:][:rank]; return rounded.Dot(v, v) }
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(length(b), length(a)) })
		top := topRows * rank
		drawn := order[top:]
		slices.Sort(drawn)
		s.some = dense.General(most, rank, make([]float64, 0, most*rank))
		for _, i := range order[:top] {
			s.some.Data = append(s.some.Data, u.Data[i*rank:][:rank]...)
		}
		for k := range most - top {
			s.some.Data = append(s.some.Data, u.Data[drawn[k*len(drawn)/(most-top)]*rank:][:rank]...)
		}
	}
	s.weighted = dense.General(s.some.Rows, rank, make([]float64, s.some.Rows*rank))
	return s
}

// search looks for the combination with a given part of 1 for which the sum of logarithms of squares is
// least, by least squares with weights: rows where it is near 0 count ever more. It reports whether it comes
// to one that is far from 0 in few rows.
func (s *combination) search() bool {
	copy(s.q, s.part)
	nearness, rank := 0.0, s.u.Cols
	values := s.values[:s.some.Rows]
	for step := range combinedSteps {
		scale := rounded.Dot(s.part, s.q)
		for k := range s.q {
			s.q[k] /= scale
		}
		dense.Gemv(blas.NoTrans, 1, s.some, dense.Vector(s.q), 0, dense.Vector(values))
		nearness /= 2
		if step == 0 {
			nearness = rounded.Norm(values) / math.Sqrt(float64(len(values)))
		}
		for i, v := range values {
			w := 1 / math.Sqrt(square(v)+square(nearness))
			for k := range rank {
				s.weighted.Data[i*rank+k] = w * s.some.Data[i*rank+k]
			}
		}
		if s.isFar(values) && (len(values) == len(s.values) || s.isFarInAll()) {
			return true
		}
		dense.Syrk(blas.Trans, 1, s.weighted, 0, dense.Symmetric(rank, s.a))
		r, ok := dense.Factor(rank, s.a)
		if !ok {
			return false
		}
		copy(s.q, s.part)
		dense.Solve(r, s.q)
	}
	return false
}

// isFarInAll is isFar for all rows.
func (s *combination) isFarInAll() bool {
	dense.Gemv(blas.NoTrans, 1, s.u, dense.Vector(s.q), 0, dense.Vector(s.values))
	return s.isFar(s.values)
}

// isFar reports whether values of rows are far from 0 in few rows alone.
func (s *combination) isFar(values []float64) bool {
	s.largest = s.largest[:0]
	most := min(s.least, len(values))
	for _, v := range values {
		v = math.Abs(v)
		if len(s.largest) == most && v <= s.largest[most-1] {
			continue
		}
		at := sort.Search(len(s.largest), func(i int) bool { return s.largest[i] < v })
		if len(s.largest) == most {
			s.largest = s.largest[:most-1]
		}
		s.largest = slices.Insert(s.largest, at, v)
	}
	for far := 1; far < len(s.largest); far++ {
		if s.largest[far-1] > farther*s.largest[far] {
			return true
		}
	}
	return false
}
