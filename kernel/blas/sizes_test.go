package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// ofOrder are calls on matrices of an order, whose times should grow with it.
var ofOrder = []struct {
	name string
	call func(l *workloadList, n int) func()
}{
	{"Mul", func(l *workloadList, n int) func() {
		a, b, c := l.dense(n, n), l.dense(n, n), mat.NewDense(n, n, nil)
		return func() { c.Mul(a, b) }
	}},
	{"Mul transposed", func(l *workloadList, n int) func() {
		a, b, c := l.dense(n, n), l.dense(n, n), mat.NewDense(n, n, nil)
		return func() { c.Mul(a.T(), b) }
	}},
	{"Solve", func(l *workloadList, n int) func() {
		a, b, x := l.dense(n, n), l.vec(n), mat.NewVecDense(n, nil)
		return func() { check(x.SolveVec(a, b)) }
	}},
	{"LU.Solve", func(l *workloadList, n int) func() {
		var lu mat.LU
		lu.Factorize(l.dense(n, n))
		b, x := l.dense(n, n), mat.NewDense(n, n, nil)
		return func() { check(lu.SolveTo(x, false, b)) }
	}},
	{"Cholesky", func(l *workloadList, n int) func() {
		s := l.positive(n)
		return func() { new(mat.Cholesky).Factorize(s) }
	}},
	{"Cholesky.Solve", func(l *workloadList, n int) func() {
		var ch mat.Cholesky
		ch.Factorize(l.positive(n))
		b, x := l.dense(n, n), mat.NewDense(n, n, nil)
		return func() { check(ch.SolveTo(x, b)) }
	}},
	{"Cholesky.SolveVec", func(l *workloadList, n int) func() {
		var ch mat.Cholesky
		ch.Factorize(l.positive(n))
		b, x := l.vec(n), mat.NewVecDense(n, nil)
		return func() { check(ch.SolveVecTo(x, b)) }
	}},
	{"QR", func(l *workloadList, n int) func() {
		a := l.dense(n, n)
		return func() { new(mat.QR).Factorize(a) }
	}},
	{"SVD", func(l *workloadList, n int) func() {
		a := l.dense(n, n)
		return func() { new(mat.SVD).Factorize(a, mat.SVDThin) }
	}},
	{"EigenSym", func(l *workloadList, n int) func() {
		s := l.positive(n)
		return func() { new(mat.EigenSym).Factorize(s, true) }
	}},
	{"Inverse", func(l *workloadList, n int) func() {
		a, out := l.dense(n, n), mat.NewDense(n, n, nil)
		return func() { check(out.Inverse(a)) }
	}},
	{"Syrk", func(l *workloadList, n int) func() {
		a, c := l.dense(n, n).RawMatrix(), mat.NewSymDense(n, nil).RawSymmetric()
		return func() { blas64.Syrk(gblas.Trans, 1, a, 0, c) }
	}},
	{"Syrk by rows", func(l *workloadList, n int) func() {
		a, c := l.dense(n, n).RawMatrix(), mat.NewSymDense(n, nil).RawSymmetric()
		return func() { blas64.Syrk(gblas.NoTrans, 1, a, 0, c) }
	}},
}

// BenchmarkSizes reports by how much a call of an order takes longer than one of a larger order, up to 64:
// the largest ratio of times, and the two orders. Up to 1.15 is no cliff.
func BenchmarkSizes(b *testing.B) {
	defer restore()()
	start := time.Now()
	clock := func() time.Duration { return time.Since(start) }
	for _, op := range ofOrder {
		b.Run(op.name, func(b *testing.B) {
			const most, draws = 64, 12 // estimates of condition numbers take more or fewer steps
			var cliff float64
			at, from := 0, 0
			for b.Loop() {
				var times [most + 1]float64
				l := &workloadList{rng: rand.New(rand.NewPCG(11, 12))}
				for n := 1; n <= most; n++ {
					times[n] = math.Inf(1)
					for range draws {
						w := workload{run: op.call(l, n)}
						times[n] = min(times[n],
							w.least([]peer{ours}, clock, 100*time.Microsecond, 4*time.Millisecond)[0])
					}
				}
				cliff = 0
				for n := 1; n <= most; n++ {
					for m := n + 1; m <= most; m++ {
						if r := times[n] / times[m]; r > cliff {
							cliff, at, from = r, n, m
						}
					}
				}
			}
			b.ReportMetric(cliff, fmt.Sprintf("order_%d/order_%d", at, from))
			b.ReportMetric(0, "ns/op")
		})
	}
}
