// Package steptest computes a step of the least squares and the gradient by dense matrices and the singular
// value decomposition, slowly, for tests to compare with.
package steptest

import (
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/mat"
)

// A Step is the result of a step on T tasks and a d x r basis.
type Step struct {
	B         *mat.Dense // r x T
	Grad      *mat.Dense // d x r
	Objective float64
	Status    []lsq.Status

	GradScale, ObjectiveScale float64 // sums of the sizes of the terms that cancel in them
}

// New takes the coefficients b_t of every task from the samples fit, with a ridge, and the gradient from the
// samples grad, at the basis u. Tasks without samples have nil matrices. A task with fewer samples than
// columns has the solution of minimum norm.
func New(u mat.Matrix, ridge float64, fitX []*mat.Dense, fitY [][]float64, gradX []*mat.Dense, gradY [][]float64) *Step {
	d, r := u.Dims()
	s := &Step{B: mat.NewDense(r, len(fitX), nil), Grad: mat.NewDense(d, r, nil)}
	for t := range fitX {
		b, status := solve(u, ridge, fitX[t], fitY[t])
		s.Status = append(s.Status, status)
		s.B.SetCol(t, b.RawVector().Data)
		if gradX[t] == nil {
			continue
		}
		var a, outer mat.Dense
		var e, g mat.VecDense
		a.Mul(gradX[t], u)
		e.MulVec(&a, b)
		y := mat.NewVecDense(len(gradY[t]), gradY[t])
		e.SubVec(&e, y)
		g.MulVec(gradX[t].T(), &e)
		outer.Outer(1, &g, b)
		s.Grad.Add(s.Grad, &outer)
		s.Objective += mat.Dot(&e, &e)
		s.GradScale += mat.Norm(gradX[t], 2) * mat.Norm(y, 2) * mat.Norm(b, 2)
		s.ObjectiveScale += mat.Dot(y, y)
	}
	return s
}

// solve returns the solution b of the least squares y = x u b, and its status.
func solve(u mat.Matrix, ridge float64, x *mat.Dense, y []float64) (*mat.VecDense, lsq.Status) {
	_, r := u.Dims()
	b := mat.NewVecDense(r, nil)
	status := lsq.OK
	if ridge == 0 && len(y) < r {
		status = lsq.Underdetermined
	}
	if x == nil {
		return b, status
	}
	var a mat.Dense
	a.Mul(x, u)
	var svd mat.SVD
	if !svd.Factorize(&a, mat.SVDThin) {
		panic("no convergence")
	}
	var left, right mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	for k, s := range svd.Values(nil) {
		c := mat.Dot(left.ColView(k), mat.NewVecDense(len(y), y))
		b.AddScaledVec(b, c*s/(s*s+ridge), right.ColView(k))
	}
	return b, status
}
