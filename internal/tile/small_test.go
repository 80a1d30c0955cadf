package tile_test

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/mat"
)

func (o Ops) residual(r *run, s shape) {
	r.start()
	a, lda := r.dense("a", s.n, s.r)
	b, _ := r.dense("b", s.r, 1)
	y, _ := r.dense("y", s.n, 1)
	e := r.alloc(s.n)
	got := o.Residual(e, a, lda, b, y, s.n, s.r)
	r.finish("Residual")
	var squares sum
	for i := range s.n {
		var want sum
		want.add(y[i], -1)
		for j := range s.r {
			want.add(a[j*lda+i], b[j])
		}
		if !r.element("Residual", e[i], &want, i, 0) {
			return
		}
		squares.add(e[i], e[i])
	}
	r.element("Residual, sum of squares", got, &squares, 0, 0)

	// e may be y.
	copy(y, r.inputs[2].want)
	again := o.Residual(y, a, lda, b, y, s.n, s.r)
	if math.Float64bits(again) != math.Float64bits(got) && !math.IsNaN(got) {
		r.Errorf("Residual: %s: %v with e = y, %v without", r.at, again, got)
	}
	for i := range e {
		if e[i] != y[i] && !math.IsNaN(e[i]) {
			r.Errorf("Residual: %s: e[%d] is %v with e = y, %v without", r.at, i, y[i], e[i])
			return
		}
	}
}

func (o Ops) leastSquares(r *run, s shape) {
	cols := s.r%40 + 1
	o.solve(r, cols+s.n, cols)
}

// leastSquaresSmall takes the shapes up to some that no tier has a tile of its own for.
func (o Ops) leastSquaresSmall(r *run, s shape) {
	cols := s.r%10 + 1
	o.solve(r, cols+s.n%(40-cols), cols)
}

// solve checks the solution by the normal equations, lo by gonum's R, hi by its norm, and the residual.
// Values other than normal ones may fail, but must show that they did.
func (o Ops) solve(r *run, rows, cols int) {
	r.start()
	a, lda := r.dense("a", rows, cols)
	y, _ := r.dense("y", rows, 1)
	b, residual, work, next := r.alloc(cols), r.alloc(rows), r.alloc(tile.LeastSquaresWork(rows, cols)), r.hint(a)
	lo, hi, squares := o.LeastSquares(b, residual, a, lda, rows, cols, y, work, next)
	r.finish("LeastSquares")
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
			r.Errorf("LeastSquares: %s: lo = %g, hi = %g, b = %g", r.at, lo, hi, b)
		}
		return
	}
	if !finite {
		r.Errorf("LeastSquares: %s: finite b, lo and hi from NaN or Inf", r.at)
		return
	}
	norm := mat.Norm(m, 2)
	x := mat.NewVecDense(cols, append([]float64(nil), b...))
	var e, g mat.VecDense
	e.MulVec(m, x)
	e.SubVec(&e, mat.NewVecDense(rows, append([]float64(nil), y...)))
	g.MulVec(m.T(), &e)
	bound := 20 * float64(rows+cols) * eps * norm * (norm*mat.Norm(x, 2) + mat.Norm(mat.NewVecDense(rows, y), 2))
	bound += float64(rows*cols) * math.SmallestNonzeroFloat64 * (1 + norm) * (1 + norm) // of b, times A'A
	if v := mat.Norm(&g, 2); !(v <= bound) {
		r.Errorf("LeastSquares: %s: |A'(A b - y)| = %g, want at most %g", r.at, v, bound)
	}
	r.residualOf(residual, squares, e.RawVector().Data, norm*mat.Norm(x, 2)+mat.Norm(mat.NewVecDense(rows, y), 2))
	again := r.alloc(rows) // e may be y
	copy(again, y)
	o.LeastSquares(b, again, a, lda, rows, cols, again, work, 0)
	if !slices.Equal(again, residual) {
		r.Errorf("LeastSquares: %s: e = %g where it is y, and %g elsewhere", r.at, again, residual)
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
		r.Errorf("LeastSquares: %s: lo = %g, hi = %g, want %g, %g", r.at, lo, hi, wantLo, wantHi)
	}
}

// residualOf checks e and its sum of squares, given |A| |b| + |y|.
func (r *run) residualOf(e []float64, squares float64, want []float64, size float64) {
	bound := 8 * float64(len(e)+16) * (eps*size + math.SmallestNonzeroFloat64)
	var s sum
	for i, v := range e {
		s.add(v, v)
		if d := math.Abs(v - want[i]); !(d <= bound) {
			r.Errorf("LeastSquares: %s: e[%d] = %g is off by %g, at most %g", r.at, i, v, d, bound)
		}
	}
	r.element("LeastSquares, sum of squares", squares, &s, 0, 0)
}

// setApart checks what Orthogonalize and LeastSquares leave of a matrix of any shape with dependent columns:
// A = W F, the diagonal of F, and that what was set apart has no part in anything.
func (o Ops) setApart(r *run, s shape) {
	cols, rows := s.r%40+1, s.n%50+1
	r.start()
	r.value = normal
	a, lda := r.columns(rows, cols, 1)
	r.fill(a, lda, rows, rows, cols)
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
	r.input("a", a)
	y, _ := r.dense("y", rows, 1)
	b := r.alloc(cols)
	work := r.alloc(tile.LeastSquaresWork(rows, cols))
	_, hi := o.Orthogonalize(b, a, lda, rows, cols, y, work, r.hint(a))
	r.finish("Orthogonalize")
	w, ldw, f, ldf := tile.Eliminated(work, rows, cols)
	r.setApart(b, f, ldf, rows, cols, hi)
	for k := range cols {
		pivot := f[k*ldf+k]
		var square sum
		for _, v := range w[k*ldw:][:rows] {
			square.add(v, v)
		}
		if d := math.Abs(pivot - square.hi); !(d <= 8*float64(rows+8)*eps*pivot) {
			r.Errorf("Orthogonalize: %s: F(%d, %[2]d) = %g, w'w = %g", r.at, k, pivot, square.hi)
		}
	}
	for j := range cols {
		col := append([]float64(nil), w[j*ldw:][:rows]...)
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
			r.Errorf("Orthogonalize: %s: column %d of W F is off by %g of %g", r.at, j, d, size)
		}
	}
	r.factorOf(o.LeastSquares, a, lda, rows, cols, y)
}

// setApart checks that columns that were set apart have no part in anything.
func (r *run) setApart(b, f []float64, ldf, rows, cols int, hi float64) {
	for k := range cols {
		row, pivot := f[k*ldf:], f[k*ldf+k]
		if pivot <= tile.SetApart(rows, cols)*hi && (b[k] != 0 || !all(row[k+1:cols+1], func(v float64) bool { return v == 0 })) {
			r.Errorf("%s: column %d is set apart, and has b = %g, F = %g", r.at, k, b[k], row[k+1:cols+1])
		}
	}
}

// factorOf checks the F that LeastSquares leaves: A'A = F'D F with the diagonal D of F.
func (r *run) factorOf(solve func(b, e, a []float64, lda, n, r int, y, work []float64, next uintptr) (lo, hi, squares float64), a []float64, lda, rows, cols int, y []float64) {
	b, e, work := r.alloc(cols), r.alloc(rows), r.alloc(tile.LeastSquaresWork(rows, cols))
	_, hi, _ := solve(b, e, a, lda, rows, cols, y, work, 0)
	r.finish("LeastSquares")
	_, _, f, ldf := tile.Eliminated(work, rows, cols)
	r.setApart(b, f, ldf, rows, cols, hi)
	for j := range cols {
		for i := range j + 1 {
			var d sum
			for k, v := range a[i*lda:][:rows] {
				d.add(v, -a[j*lda+k])
			}
			got := -d.hi
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
			if size := norm(a[i*lda:][:rows]) * norm(a[j*lda:][:rows]); !(math.Abs(got) <= 16*float64(rows+cols)*eps*size) {
				r.Errorf("LeastSquares: %s: entry %d, %d of F'D F is off by %g of %g", r.at, i, j, got, size)
			}
		}
	}
}

func norm(x []float64) float64 { return mat.Norm(mat.NewVecDense(len(x), x), 2) }

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// solveUpper checks that the result times R is the matrix, which holds to the bound
// of a product whatever the condition of R. Values other than normal ones would
// overflow.
func (o Ops) solveUpper(r *run, s shape) {
	r.start()
	r.value = normal
	m, n := s.d, s.r
	rr, ldr := r.columns(n, n, 1)
	inv := r.alloc(n)
	for j := range n {
		for i := range j {
			rr[j*ldr+i] = r.value(r.rng)
		}
		inv[j] = 1 / (1 + math.Abs(r.value(r.rng)))
	}
	r.input("r", rr)
	r.input("inv", inv)
	a, lda := r.columns(m, n, 1)
	r.fill(a, lda, m, m, n)
	before := append([]float64(nil), a...)
	o.SolveUpper(a, lda, rr, ldr, inv, m, n)
	r.finish("SolveUpper")
	r.gaps("SolveUpper", a, lda, m, n)
	for j := range n {
		for k := range m {
			back := sum{terms: 4} // the scaling, and the inverse of it here
			for i := range j {
				back.add(a[i*lda+k], rr[j*ldr+i])
			}
			back.add(a[j*lda+k], 1/inv[j])
			if !r.element("SolveUpper, times R", before[j*lda+k], &back, k, j) {
				return
			}
		}
	}
}
