package tile_test

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// besideSquares takes the rank for the length of sums, and either triangle. The other triangle stays.
func besideSquares[F tile.Float](r *run, s shape) {
	const rows = tile.SquareRows
	m, n, upper, at := s.n, max(s.r, 1), s.d%2 > 0, tile.Layout{}
	var w []F
	if s.d%3 > 0 {
		byRows, ldw := dense[F](r, "w", n, m)
		w, at = byRows, tile.ByRows(ldw)
	} else {
		byColumns, ldw := dense[F](r, "w", m, n)
		w, at = byColumns, tile.ByColumns(ldw)
	}
	z, ldz := dense[F](r, "z", m, n)
	c, ldc := filled[F](r, m, m, m, 1)
	squares := alloc[F](r, m*rows)
	clear(squares)
	for _, u := range updates[F]() {
		before := slices.Clone(c)
		r.call(func() { tile.TriangleOf(upper, c, ldc, squares, w, at, z, ldz, m, n, u) })
		product := func(want *sum, i, k int) {
			for j := range n {
				place := i*at.Down + (j+1)/2*at.Next + j/2*at.Across
				want.add(float64(u.Alpha)*float64(w[place]), float64(z[j*ldz+k]))
			}
		}
		entries(r, c, ldc, m, m, func(want *sum, k, i int) {
			if beside := k/rows < i/rows; k/rows == i/rows || beside == upper {
				want.add(float64(before[i*ldc+k]), 1)
				return
			}
			updated(want, u, before, i*ldc+k)
			product(want, i, k)
		})
		entries(r, squares, rows, rows, m, func(want *sum, k, i int) {
			if column := i/rows*rows + k; column < m {
				product(want, i, column)
			}
		})
	}
}

// TestFewRows holds products of all small shapes to sums term by term, where each term is rounded once: every
// number of rows of one and of two tiles of few rows, every number of last columns, every layout of W, and Z
// in one piece and in panels.
func TestFewRows(t *testing.T) {
	tiertest.Every(t, func(t *testing.T) {
		if tile.Active() == tile.Generic {
			t.Skip("rounds twice")
		}
		width := tile.PanelWidth[float64]()
		for m := 1; m <= 14; m++ {
			for cols := 1; cols <= 2*width+3; cols++ {
				for i, at := range []tile.Layout{tile.ByRows(80), tile.ByColumns(m + 3), tile.PairsByColumns(2*m + 2)} {
					for packed := range 2 {
						if testing.Short() && (m+cols+i+packed)%3 > 0 {
							continue
						}
						p := termByTerm{at: at, m: m, n: 2 * (1 + (m+cols)%4), cols: cols, ldz: cols + 1, apart: width}
						if packed > 0 {
							p.ldz, p.apart = width, 30*width
						}
						if (m+cols)%5 == 0 { // too many terms for some prefetches
							p.n = 68
						}
						p.check(t)
					}
				}
			}
		}
	})
}

// A termByTerm is a product whose sums are taken one term after the other.
type termByTerm struct {
	at            tile.Layout
	m, n, cols    int
	ldz, apart    int
	w, z          []float64
	width, beside int // of a panel, and columns of C beside the product
}

func (p *termByTerm) check(t *testing.T) {
	p.width, p.beside = tile.PanelWidth[float64](), 2
	p.w, p.z = unevenNumbers(p.index(p.m-1, p.n-1)+1, 3), unevenNumbers(p.cols/p.width*p.apart+p.n*p.ldz+p.width, 5)
	for _, u := range []tile.Update[float64]{{Alpha: 1}, {Alpha: 1, Beta: 1}, {Alpha: -.75}, {Alpha: .3, Beta: -2}} {
		c := unevenNumbers(p.m*(p.cols+p.beside), 7)
		want := p.product(c, u)
		tile.Panels(c, p.cols+p.beside, p.w, p.at, p.z, p.ldz, p.apart, p.m, p.n, p.cols, u)
		if !slices.Equal(c, want) {
			t.Fatalf("%d x %d of %d terms, %+v, panels %d apart, %+v: other bits than term by term",
				p.m, p.cols, p.n, p.at, p.apart, u)
		}
	}
}

// index returns the place of an entry of W.
func (p *termByTerm) index(row, column int) int {
	return row*p.at.Down + (column+1)/2*p.at.Next + column/2*p.at.Across
}

// product returns C as the product leaves it.
func (p *termByTerm) product(c []float64, u tile.Update[float64]) []float64 {
	c = slices.Clone(c)
	for i := range p.m {
		for j := range p.cols {
			entry := &c[i*(p.cols+p.beside)+j]
			sum := 0.0
			if u.Alpha == 1 && u.Beta == 1 {
				sum = *entry
			}
			for k := range p.n {
				sum = math.FMA(p.w[p.index(i, k)], p.z[j/p.width*p.apart+k*p.ldz+j%p.width], sum)
			}
			if sum = float64(u.Alpha * sum); u.Alpha != 1 && u.Beta != 0 {
				sum += float64(u.Beta * *entry)
			}
			*entry = sum
		}
	}
	return c
}

// unevenNumbers returns n numbers that have no short binary form.
func unevenNumbers(n, from int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1 / float64(i%1000+from)
	}
	return x
}
