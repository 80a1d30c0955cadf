package tile_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// mostColumns is a number of columns for more than two tiles of triangles on every tier.
const mostColumns = 72

// TestTriangleColumns applies triangles of all orders to every number of columns, whose rows follow each
// other. A column becomes the same, to the bit, as one of many others, and what is around B stays.
func TestTriangleColumns(t *testing.T) {
	tiertest.Every(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for order := 1; order <= tile.TriangleOrder; order++ {
			for _, sign := range []int{1, -1} { // of distances: the last row is the first one in memory
				columnsAlone[float64](t, rng, order, sign)
				columnsAlone[float32](t, rng, order, sign)
			}
		}
	})
}

// columnsAlone applies triangles of an order to columns of reals, and of complex numbers.
func columnsAlone[F tile.Float](t *testing.T, rng *rand.Rand, order, sign int) {
	draw := func(n int) []F {
		x := make([]F, n)
		for i := range x {
			x[i] = F(rng.NormFloat64())
		}
		return x
	}
	a, d, wide := draw(2*order*order), draw(2*order), draw(2*order*mostColumns)
	down := sign * order
	for _, f := range []struct {
		name  string
		reals int // of a column
		apply func(b []F, ldb, cols int)
	}{
		{"solve", 1, func(b []F, ldb, cols int) { tile.SolveRows(b, ldb, a, down, sign, d[:order], order, cols) }},
		{"multiply", 1, func(b []F, ldb, cols int) {
			tile.MultiplyRows(b, ldb, a, down, sign, d[:order], order, cols)
		}},
		{"solve complex", 2, func(b []F, ldb, cols int) {
			tile.SolveComplexRows(b, ldb, a, 2*down, 2*sign, d, true, order, cols)
		}},
		{"multiply complex", 2, func(b []F, ldb, cols int) {
			tile.MultiplyComplexRows(b, ldb, a, 2*down, 2*sign, d, false, order, cols)
		}},
	} {
		ldw := f.reals * mostColumns
		want := append([]F(nil), wide[:order*ldw]...)
		f.apply(want, sign*ldw, mostColumns)
		for cols := 1; cols < mostColumns; cols++ {
			at := fmt.Sprintf("%s, %T, order %d, distances of sign %d, %d columns", f.name, a, order, sign, cols)
			all, ldb := surrounded(wide, ldw, order, f.reals*cols)
			b := all[around : len(all)-around]
			f.apply(b, sign*ldb, cols)
			for i := range order {
				for j, v := range b[i*ldb:][:ldb] {
					if v != want[i*ldw+j] {
						t.Fatalf("%s: entry (%d, %d) is %g, not %g", at, i, j, v, want[i*ldw+j])
					}
				}
			}
			for i := range around {
				if all[i] != stays || all[len(all)-1-i] != stays {
					t.Fatalf("%s: wrote around B", at)
				}
			}
		}
	}
}

// around is the number of entries before and behind a copy, and stays what they are.
const around, stays = 16, 7

// surrounded returns a copy of the first columns of some rows between others.
func surrounded[F tile.Float](from []F, stride, rows, columns int) (all []F, ldb int) {
	all = make([]F, rows*columns+2*around)
	for i := range all {
		all[i] = stays
	}
	for i := range rows {
		copy(all[around+i*columns:][:columns], from[i*stride:])
	}
	return all, columns
}
