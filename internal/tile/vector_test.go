package tile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// A vectorCase is an operation of a matrix of m rows and n columns and vectors.
type vectorCase struct {
	name  string
	check func(r *run, m, n int)
}

var vectorCases = []vectorCase{
	{"AddAbs", func(r *run, _, n int) {
		a, _ := r.dense("a", n, 1)
		y := r.alloc(n)
		r.fill(y, n, n, n, 1)
		before, total := slices.Clone(y), sum{terms: n}
		got := tile.AddAbs(y, a, n)
		r.finish("AddAbs")
		for k, v := range a {
			total.add(1, math.Abs(v))
			want := sum{terms: 1}
			want.add(1, before[k])
			want.add(1, math.Abs(v))
			r.element("AddAbs", y[k], &want, k, 0)
		}
		r.element("AddAbs, sum", got, &total, 0, 0)
	}},
	{"Reflect", checkReflect},
	{"RotateDown", func(r *run, m, _ int) {
		c, _ := r.dense("c", m, 1)
		s, _ := r.dense("s", m, 1)
		z, ldz := r.columns(tile.RotateWidth, m+1, 1)
		r.fill(z, ldz, tile.RotateWidth, tile.RotateWidth, m+1)
		mirror := make([]float64, (m+1)*tile.RotateWidth)
		for i := range m + 1 {
			copy(mirror[i*tile.RotateWidth:], z[(m-i)*ldz:][:tile.RotateWidth])
		}
		tile.RotateDown(z, ldz, c, s, m)
		r.finish("RotateDown")
		r.gaps("RotateDown", z, ldz, tile.RotateWidth, m+1)
		tile.Rotate(mirror, tile.RotateWidth, c, s, m)
		for i := range m + 1 {
			if !slices.Equal(mirror[i*tile.RotateWidth:][:tile.RotateWidth], z[(m-i)*ldz:][:tile.RotateWidth]) {
				r.Fatalf("%s: row %d is not what Rotate makes of the rows in the other order", r.at, m-i)
			}
		}
	}},
}

// checkReflect holds a pass over a panel to its definition, for a width and a column that depend on n.
func checkReflect(r *run, m, n int) {
	width := 8 * (1 + n%4)
	col, scale := n%(width-1), 0.7
	var w, sums [tile.ReflectWidth]float64
	for k := col + 1; k < width; k++ {
		w[k] = r.value(r.rng)
	}
	a, lda := r.columns(width, m, 1)
	r.fill(a, lda, width, width, m)
	before := slices.Clone(a)
	tile.Reflect(a, lda, col, &w, &sums, scale, m, width-n%8)
	r.finish("Reflect")
	r.gaps("Reflect", a, lda, width, m)
	for i := range m {
		row, was := a[i*lda:][:width], before[i*lda:][:width]
		for k, v := range row {
			want := sum{terms: 3}
			if k == col {
				want.add(scale, was[k])
			} else {
				want.add(1, was[k])
				want.add(-row[col], w[k])
			}
			r.element("Reflect", v, &want, i, k)
		}
	}
	for k := col + 1; k < width; k++ {
		want := sum{terms: m}
		for i := range m {
			want.add(a[i*lda+col+1], a[i*lda+k])
		}
		r.element("Reflect, sums", sums[k], &want, 0, k)
	}
}

// The operations of matrices and vectors do what their definitions say for all tails of rows and entries, and
// touch nothing else.
func TestVectors(t *testing.T) {
	cases := slices.Clone(vectorCases)
	for _, name := range []string{"RowDots", "RowDots32", "AddRows", "AddRows32", "AddOuter", "AddOuter32"} {
		check := ops.operations()[name]
		cases = append(cases, vectorCase{name, func(r *run, m, n int) { check(r, shape{n: m, d: n}) }})
	}
	tiertest.Every(t, func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				r := newRun(t, rand.New(rand.NewPCG(1, 2)))
				r.value = normal
				for n := 1; n < 70; n++ {
					for _, m := range []int{0, 1, 2, 3, 4, 7, 8, 15, 17 + n%8} {
						r.start()
						r.at = fmt.Sprintf("m = %d, n = %d", m, n)
						if r.try(func(r *run, s shape) { c.check(r, s.n, s.d) }, shape{n: m, d: n}); t.Failed() {
							return
						}
					}
				}
			})
		}
	})
}
