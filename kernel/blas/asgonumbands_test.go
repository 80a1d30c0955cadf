package blas_test

import (
	"math"
	"math/rand/v2"

	gblas "gonum.org/v1/gonum/blas"
)

func init() {
	routines["Dlantr"] = routine{func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		return []*rowMajor{random(rng, s.m, s.n, gap()), random(rng, 1, s.n, 0)}
	}, func(t *trial) []float64 {
		a, work := t.x[0], t.x[1].data
		defer clear(work)
		return []float64{t.l.Dlantr(t.s.norm, t.s.ul, t.s.diag, t.s.m, t.s.n, a.data, a.stride, work)}
	}}
	routines["Dtbtrs"] = routine{func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		s.k = pick(rng, []int{0, 1, 3, 8, s.k})
		return []*rowMajor{band(rng, s, gap()), random(rng, s.n, s.m, gap())}
	}, func(t *trial) []float64 {
		a, b := t.x[0], t.x[1]
		ok := t.l.Dtbtrs(t.s.ul, t.s.tA, t.s.diag, t.s.n, t.s.k, t.s.m, a.data, a.stride, b.data, b.stride)
		return []float64{map[bool]float64{true: 1}[ok]}
	}}
	routines["Dpbtrs"] = routine{routines["Dtbtrs"].operands, func(t *trial) []float64 {
		a, b := t.x[0], t.x[1]
		t.l.Dpbtrs(t.s.ul, t.s.n, t.s.k, t.s.m, a.data, a.stride, b.data, b.stride)
		return nil
	}}
	routines["Dpbcon"] = routine{func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		s.k = pick(rng, []int{0, 1, 8, 30, 60, s.k})
		s.alpha = pick(rng, []float64{1, 0.7, 0, -1, 1e160})
		return []*rowMajor{band(rng, s, gap()), random(rng, 1, 3*s.n, 0), random(rng, 1, s.n, 0)}
	}, func(t *trial) []float64 {
		a, work, integers := t.x[0], t.x[1].data, make([]int, len(t.x[2].data))
		defer clear(work)
		value := t.l.Dpbcon(t.s.ul, t.s.n, t.s.k, a.data, a.stride, t.s.alpha, work, integers)
		fraction, exponent := math.Frexp(value)
		return []float64{float64(exponent) + float64(2*fraction)} // a logarithm, for its relative error
	}}
	routines["Dgeqp3"] = routine{func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		a := random(rng, s.m, s.n, gap())
		if s.k%3 == 0 { // a column of zeros, and a tiny one
			for i := range s.m {
				a.data[i*a.stride] *= 1e-200
				a.data[i*a.stride+s.n/2] = 0
			}
		}
		return []*rowMajor{a}
	}, func(t *trial) []float64 {
		a, n := t.x[0], max(t.s.n, 0)
		order, tau, work := make([]int, n), make([]float64, max(min(t.s.m, n), 0)), make([]float64, 3*n+1+t.s.k%2*40*n)
		for j := range order {
			if order[j] = -1; t.s.k%4 == 1 && (j*t.s.k)%5 == 3 {
				order[j] = j
			}
		}
		t.l.Dgeqp3(t.s.m, t.s.n, a.data, a.stride, order, tau, work, len(work))
		for _, p := range order {
			tau = append(tau, float64(p))
		}
		return tau
	}}
}

// band returns a band of s.k diagonals beside the main one; some of its pivots are denormal, or zero.
func band(rng *rand.Rand, s *settings, gap int) *rowMajor {
	a := random(rng, s.n, s.k+1, gap)
	for i := range s.n {
		for j := range s.k + 1 {
			a.data[i*a.stride+j] /= float64(s.k + 1)
		}
		at := i * a.stride
		if s.ul == gblas.Lower {
			at += s.k
		}
		switch a.data[at] += 2; {
		case s.m%16 == 3 && i == s.n/2:
			a.data[at] = 0
		case s.m%16 == 5 && i == s.n-1:
			a.data[at] = 3e-309
		}
	}
	return a
}
