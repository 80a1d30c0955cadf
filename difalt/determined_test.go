package difalt_test

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/mat"
)

// contributions appends what one task adds to all that the neighbours of a node see: its
// products in the power iterations, its gradients, and b b' if the method sends it.
func contributions(tr trail, from []*mat.Dense, x *mat.Dense, y []float64) (seen []float64) {
	n, _ := x.Dims()
	target := mat.NewVecDense(n, y)
	var c mat.VecDense
	c.MulVec(x.T(), target)
	for _, u := range from {
		var p mat.VecDense
		var z mat.Dense
		p.MulVec(u.T(), &c)
		z.Outer(1/float64(n*n), &c, &p)
		seen = append(seen, z.RawMatrix().Data...)
	}
	for _, u := range tr.u {
		var a, g, outer mat.Dense
		var b, e mat.VecDense
		a.Mul(x, u)
		if err := b.SolveVec(&a, target); err != nil {
			panic(err)
		}
		e.MulVec(&a, &b)
		e.SubVec(&e, target)
		g.Mul(x.T(), &e)
		outer.Outer(1, g.ColView(0), &b)
		seen = append(seen, outer.RawMatrix().Data...)
		if tr.gram != nil {
			outer.Reset()
			outer.Outer(1, &b, &b)
			seen = append(seen, outer.RawMatrix().Data...)
		}
	}
	return seen
}

// sensitivities returns the singular values, relative to the largest, of the derivative of
// all that the neighbours see by all numbers in X_t and y_t of the victim, and how many
// numbers there are but for rotations.
func (v *spied) sensitivities(t *testing.T) (values []float64, free int) {
	tr := v.follow(t)
	_, bases := v.spectral(t)
	from := []*mat.Dense{orthonormal(v.Start)}
	from = append(from, bases[:len(bases)-1]...)
	var columns []float64
	total, size := 0, 0
	for task, x := range v.x[v.victim] {
		n, _ := x.Dims()
		free += n*(v.d+1) - n*(n-1)/2
		y := append([]float64(nil), v.y[v.victim][task]...)
		x := mat.DenseCopyOf(x)
		for k := range n * (v.d + 1) {
			number := &y[k%n]
			if k >= n {
				number = &x.RawMatrix().Data[k-n]
			}
			const h = 1e-4
			was := *number
			*number = was + h
			above := contributions(tr, from, x, y)
			*number = was - h
			below := contributions(tr, from, x, y)
			*number = was
			for i := range above {
				columns = append(columns, (above[i]-below[i])/(2*h))
			}
			size = len(above)
			total++
		}
	}
	var gram mat.SymDense // squares of singular values, to half of the digits
	gram.SymOuterK(1, mat.NewDense(total, size, columns))
	var eigen mat.EigenSym
	if !eigen.Factorize(&gram, false) {
		t.Fatal("no eigenvalues")
	}
	squares := eigen.Values(nil)
	for i := range squares {
		values = append(values, math.Sqrt(max(squares[total-1-i], 0)/squares[total-1]))
	}
	return values, free
}

// TestDetermined asks what any attack could recover that starts near the truth: how many
// of the directions in which X_t and y_t may change do so in the messages. For a node of
// two tasks of four rows it is all but rotations; for one of ten tasks of eight rows, fewer
// than half even if all messages are known to six digits.
func TestDetermined(t *testing.T) {
	inFull(t)
	o := spyOptions(difalt.ScaledDiffusion, "none", 40)
	values, free := spy(t, problemFor(2, 4, 8), victim, o).sensitivities(t)
	if free != 60 || values[free-1] < 1e-6 || values[free] > 1e-7 {
		t.Errorf("few tasks: %d directions are free, the last is seen at %.1e, rotations at %.1e", free, values[free-1], values[free])
	}
	values, free = spy(t, problemFor(10, 8, 10), victim, o).sensitivities(t)
	if seen := slices.IndexFunc(values, func(v float64) bool { return v < 1e-6 }); seen > free/2 {
		t.Errorf("many tasks: %d of %d directions are seen to six digits", seen, free)
	}
}
