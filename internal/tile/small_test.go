package tile_test

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/mat"
)

func residual(r *run, s shape) {
	a, lda := dense[float64](r, "a", s.n, s.r)
	b, _ := dense[float64](r, "b", s.r, 1)
	y, _ := dense[float64](r, "y", s.n, 1)
	e, got := alloc[float64](r, s.n), 0.0
	r.call(func() { got = tile.Residual(e, a, lda, b, y, s.n, s.r) })
	r.results(got)
	var squares sum
	entries(r, e, 0, s.n, 1, func(want *sum, i, _ int) {
		want.add(y[i], -1)
		strided(want, s.r, b, 1, a[min(i, len(a)):], lda)
		squares.add(e[i], e[i])
	})
	r.element(got, &squares, 0, 0)
	again := slices.Clone(y) // e may be y
	r.same(tile.Residual(again, a, lda, b, again, s.n, s.r), got, 0, 0)
	for i := range e {
		r.same(again[i], e[i], i, 0)
	}
}

func leastSquares(r *run, s shape) {
	cols := s.r%40 + 1
	solve(r, cols+s.n, cols)
}

// leastSquaresSmall takes the shapes up to some that no tier has a tile of its own for.
func leastSquaresSmall(r *run, s shape) {
	cols := s.r%10 + 1
	solve(r, cols+s.n%(40-cols), cols)
}

// solve checks the solution by the normal equations, lo by gonum's R, hi by its norm, and the residual.
// Values other than normal ones may fail, but must show that they did.
func solve(r *run, rows, cols int) {
	a, lda := dense[float64](r, "a", rows, cols)
	y, _ := dense[float64](r, "y", rows, 1)
	b, residual, work := alloc[float64](r, cols), alloc[float64](r, rows),
		workspace[float64](r, tile.LeastSquaresWork(rows, cols))
	next := r.hint(a)
	var lo, hi, squares float64
	r.call(func() { lo, hi, squares = tile.LeastSquares(b, residual, a, lda, rows, cols, y, work, next) })
	r.results(lo, hi, squares)
	factorResults(r, work, rows, cols)
	m := mat.NewDense(rows, cols, nil)
	for j := range cols {
		for i, v := range a[j*lda:][:rows] {
			m.Set(i, j, v)
		}
	}
	finite := all(m.RawMatrix().Data, isFinite) && all(y, isFinite)
	accepted := lo > 1e-14*hi && lo > 1e-280 && hi < 1e300 && all(b, isFinite)
	if !accepted {
		// Square Gaussian matrices may be that ill-conditioned, but not tall ones.
		if rows > cols+4 && lo > 1e-280 && finite {
			r.Errorf("%s: lo = %g, hi = %g, b = %g", r.at, lo, hi, b)
		}
		return
	}
	if !finite {
		r.Errorf("%s: finite b, lo and hi from NaN or Inf", r.at)
		return
	}
	norm, x, ys := mat.Norm(m, 2), mat.NewVecDense(cols, slices.Clone(b)), mat.NewVecDense(rows, slices.Clone(y))
	var e, g mat.VecDense
	e.MulVec(m, x)
	e.SubVec(&e, ys)
	g.MulVec(m.T(), &e)
	size := norm*mat.Norm(x, 2) + mat.Norm(ys, 2) // |A| |b| + |y|
	bound := 20 * float64(rows+cols) * eps * norm * size
	bound += float64(rows*cols) * math.SmallestNonzeroFloat64 * (1 + norm) * (1 + norm) // of b, times A'A
	if v := mat.Norm(&g, 2); !(v <= bound) {
		r.Errorf("%s: |A'(A b - y)| = %g, want at most %g", r.at, v, bound)
	}
	bound = 8 * float64(rows+16) * (eps*size + math.SmallestNonzeroFloat64)
	var ee sum
	for i, v := range residual {
		ee.add(v, v)
		if d := math.Abs(v - e.AtVec(i)); !(d <= bound) {
			r.Errorf("%s: e[%d] = %g is off by %g, at most %g", r.at, i, v, d, bound)
		}
	}
	r.element(squares, &ee, 0, 0)
	again := slices.Clone(y) // e may be y
	tile.LeastSquares(b, again, a, lda, rows, cols, again, work, 0)
	if !slices.Equal(again, residual) {
		r.Errorf("%s: e = %g where it is y, and %g elsewhere", r.at, again, residual)
	}
	var qr mat.QR
	qr.Factorize(m)
	var rr mat.Dense
	qr.RTo(&rr)
	wantLo, wantHi := math.Inf(1), norm*norm
	for k := range cols {
		wantLo = min(wantLo, rr.At(k, k)*rr.At(k, k))
	}
	tol := 1e-11 * norm * norm
	if math.Abs(lo-wantLo) > tol || math.Abs(hi-wantHi) > tol {
		r.Errorf("%s: lo = %g, hi = %g, want %g, %g", r.at, lo, hi, wantLo, wantHi)
	}
}

// setApart checks what Orthogonalize and LeastSquares leave of a matrix of any shape with dependent columns:
// A = W F, the diagonal of F, and that what was set apart has no part in anything.
func setApart(r *run, s shape) {
	cols, rows := s.r%40+1, s.n%50+1
	r.value = normal
	a, lda := filled[float64](r, rows, rows, cols, 1)
	for j := range cols {
		switch from := r.rng.IntN(j + 1); r.rng.IntN(8) {
		case 0:
			clear(a[j*lda:][:rows])
		case 1:
			for i, v := range a[from*lda:][:rows] {
				a[j*lda+i] = -2 * v
			}
		}
	}
	declare(r, "a", a)
	y, _ := dense[float64](r, "y", rows, 1)
	b, work, lo, hi := alloc[float64](r, cols), workspace[float64](r, tile.LeastSquaresWork(rows, cols)), 0.0, 0.0
	r.call(func() { lo, hi = tile.Orthogonalize(b, a, lda, rows, cols, y, work, r.hint(a)) })
	r.results(lo, hi)
	factorResults(r, work, rows, cols)
	w, ldw, f, ldf := tile.Eliminated(work, rows, cols)
	for k := range cols {
		r.results(w[k*ldw:][:rows]...)
	}
	checkApart(r, b, f, ldf, rows, cols, hi)
	for k := range cols {
		pivot := f[k*ldf+k]
		var square sum
		strided(&square, rows, w[k*ldw:], 1, w[k*ldw:], 1)
		if d := math.Abs(pivot - square.hi); !(d <= 8*float64(rows+8)*eps*pivot) {
			r.Errorf("%s: F(%d, %[2]d) = %g, w'w = %g", r.at, k, pivot, square.hi)
		}
	}
	for j := range cols {
		col := slices.Clone(w[j*ldw:][:rows])
		size := norm(a[j*lda:][:rows])
		for k := range j {
			for i, v := range w[k*ldw:][:rows] {
				col[i] += v * f[k*ldf+j]
			}
		}
		for i := range col {
			col[i] -= a[j*lda+i]
		}
		if d := norm(col); !(d <= 8*float64(rows+cols)*eps*size) {
			r.Errorf("%s: column %d of W F is off by %g of %g", r.at, j, d, size)
		}
	}
	factorOf(r, a, lda, rows, cols, y)
}

// factorResults adds F to the hash.
func factorResults(r *run, work []float64, rows, cols int) {
	_, _, f, ldf := tile.Eliminated(work, rows, cols)
	for k := range cols {
		r.results(f[k*ldf+k:][:cols+1-k]...)
	}
}

// checkApart checks that columns that were set apart have no part in anything.
func checkApart(r *run, b, f []float64, ldf, rows, cols int, hi float64) {
	for k := range cols {
		row, pivot := f[k*ldf:], f[k*ldf+k]
		if pivot <= tile.SetApart(rows, cols)*hi &&
			(b[k] != 0 || !all(row[k+1:cols+1], func(v float64) bool { return v == 0 })) {
			r.Errorf("%s: column %d is set apart, and has b = %g, F = %g", r.at, k, b[k], row[k+1:cols+1])
		}
	}
}

// factorOf checks the F that LeastSquares leaves: A'A = F'D F with the diagonal D of F.
func factorOf(r *run, a []float64, lda, rows, cols int, y []float64) {
	b, e := alloc[float64](r, cols), alloc[float64](r, rows)
	work := workspace[float64](r, tile.LeastSquaresWork(rows, cols))
	var lo, hi, squares float64
	r.call(func() { lo, hi, squares = tile.LeastSquares(b, e, a, lda, rows, cols, y, work, 0) })
	r.results(lo, hi, squares)
	factorResults(r, work, rows, cols)
	_, _, f, ldf := tile.Eliminated(work, rows, cols)
	checkApart(r, b, f, ldf, rows, cols, hi)
	for j := range cols {
		for i := range j + 1 {
			var d sum
			strided(&d, rows, a[i*lda:], 1, a[j*lda:], 1)
			got := d.hi
			for k := range i + 1 {
				fi, fj := f[k*ldf+i], f[k*ldf+j]
				if k == i {
					fi = 1
				}
				if k == j {
					fj = 1
				}
				got -= fi * f[k*ldf+k] * fj
			}
			size := norm(a[i*lda:][:rows]) * norm(a[j*lda:][:rows])
			if !(math.Abs(got) <= 16*float64(rows+cols)*eps*size) {
				r.Errorf("%s: entry %d, %d of F'D F is off by %g of %g", r.at, i, j, got, size)
			}
		}
	}
}

func norm(x []float64) float64 { return mat.Norm(mat.NewVecDense(len(x), x), 2) }

func all(x []float64, f func(float64) bool) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return !f(v) })
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// solveUpper checks that the result times R is the matrix, which holds to the bound
// of a product whatever the condition of R. Values other than normal ones would
// overflow.
func solveUpper(r *run, s shape) {
	r.value = normal
	m, n := s.d, s.r
	rr, ldr := columns[float64](r, n, n, 1)
	inv := alloc[float64](r, n)
	for j := range n {
		for i := range j {
			rr[j*ldr+i] = r.value(r.rng)
		}
		inv[j] = 1 / (1 + math.Abs(r.value(r.rng)))
	}
	declare(r, "r", rr)
	declare(r, "inv", inv)
	a, lda := filled[float64](r, m, m, n, 1)
	before := slices.Clone(a)
	r.call(func() { tile.SolveUpper(a, lda, rr, ldr, inv, m, n) })
	entries(r, a, lda, m, n, func(want *sum, k, j int) {
		back := sum{terms: 4} // the scaling, and the inverse of it here
		strided(&back, j, rr[j*ldr:], 1, a[k:], lda)
		back.add(a[j*lda+k], 1/inv[j])
		r.element(before[j*lda+k], &back, k, j)
		want.add(a[j*lda+k], 1)
	})
}
