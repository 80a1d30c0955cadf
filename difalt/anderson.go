package difalt

import (
	"math"

	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// An anderson is the memory of Anderson acceleration (Anderson, "Iterative Procedures for Nonlinear Integral
// Equations", 1965; Walker and Ni, "Anderson Acceleration for Fixed-Point Iterations", 2011): changes of U,
// and the changes of the gradient that belong to them.
type anderson struct {
	du, dg []*kernel.Basis // the oldest pair is overwritten first
	filled int             // the number of pairs in use
	next   int             // the pair to overwrite

	root            []float64       // P^-1/2
	weighed         []*kernel.Basis // dg P^-1/2
	residual, moved *kernel.Basis
	c, matrix       []float64
}

const (
	memoryLen      = 10    // pairs
	regularization = 1e-10 // of the matrix of inner products, relative to its trace
	longest        = 2     // times the length of the plain step: the longest correction
)

func newAnderson(d, r int) *anderson {
	n := &anderson{
		root: make([]float64, r*r), residual: kernel.NewBasis(d, r), moved: kernel.NewBasis(d, r),
		c: make([]float64, memoryLen), matrix: make([]float64, memoryLen*memoryLen),
	}
	for range memoryLen {
		n.du, n.dg = append(n.du, kernel.NewBasis(d, r)), append(n.dg, kernel.NewBasis(d, r))
		n.weighed = append(n.weighed, kernel.NewBasis(d, r))
	}
	return n
}

// pair returns the memory for the next pair of changes.
func (n *anderson) pair() (du, dg *kernel.Basis) {
	du, dg = n.du[n.next], n.dg[n.next]
	n.next = (n.next + 1) % memoryLen
	n.filled = min(n.filled+1, memoryLen)
	return du, dg
}

// remember stores a change of U with the change of the gradient that belongs to it.
func (n *anderson) remember(du, dg *kernel.Basis) {
	toU, toG := n.pair()
	toU.CopyFrom(du)
	toG.CopyFrom(dg)
}

// rememberChange stores the changes from one evaluation to the next.
func (n *anderson) rememberChange(u, grad, lastU, lastGrad *kernel.Basis) {
	du, dg := n.pair()
	floats.SubTo(du.Data(), u.Data(), lastU.Data())
	floats.SubTo(dg.Data(), grad.Data(), lastGrad.Data())
}

// correct adds to step, which is -grad P^-1, the correction
//
//	-sum_a c_a (du_a - dg_a P^-1),   c = argmin |(grad - sum_a c_a dg_a) P^-1/2|_F,
//
// shortened to at most twice the length of step. c solves the normal equations, to whose diagonal 1e-10 of
// their trace is added.
func (n *anderson) correct(step, grad *kernel.Basis, p *gram.Matrix) {
	k, trace := n.filled, 0.0
	p.Map(n.root, func(v float64) float64 { return 1 / math.Sqrt(v) })
	multiply(n.residual, grad, n.root)
	for a := range k {
		multiply(n.weighed[a], n.dg[a], n.root)
		n.c[a] = tile.Dot(n.weighed[a].Data(), n.residual.Data())
		for b := range a + 1 {
			n.matrix[b*k+a] = tile.Dot(n.weighed[a].Data(), n.weighed[b].Data())
		}
		trace += n.matrix[a*k+a]
	}
	for a := range k {
		n.matrix[a*k+a] += float64(regularization * trace)
	}
	if k == 0 || !solvePositive(n.matrix[:k*k], n.c[:k]) {
		return
	}
	clear(n.residual.Data())
	clear(n.moved.Data())
	for a, c := range n.c[:k] {
		rounded.AddScaled(n.residual.Data(), c, n.dg[a].Data())
		rounded.AddScaled(n.moved.Data(), -c, n.du[a].Data())
	}
	gram.AddProduct(n.moved, n.residual, p.Inverse)
	scale := 1.0
	if length, most := rounded.Norm(n.moved.Data()), longest*rounded.Norm(step.Data()); length > most {
		scale = most / length
	}
	rounded.AddScaled(step.Data(), scale, n.moved.Data())
}

// solvePositive overwrites c by A^-1 c for a symmetric positive definite matrix A. On entry a holds its
// upper triangle by rows, on return the Cholesky factor R. It returns false for other matrices. Every
// operation rounds, so that all processors compute the same.
func solvePositive(a, c []float64) bool {
	k := len(c)
	for i := range k {
		row := a[i*k:][:k]
		for h := range i { // A - R'R of the rows before
			by := a[h*k+i]
			for j := i; j < k; j++ {
				row[j] -= float64(by * a[h*k+j])
			}
		}
		if !(row[i] > 0) { // or NaN
			return false
		}
		root := math.Sqrt(row[i])
		for j := i; j < k; j++ {
			row[j] /= root
		}
		for h := range i {
			c[i] -= float64(a[h*k+i] * c[h])
		}
		c[i] /= row[i]
	}
	for i := k - 1; i >= 0; i-- {
		for j := i + 1; j < k; j++ {
			c[i] -= float64(a[i*k+j] * c[j])
		}
		c[i] /= a[i*k+i]
	}
	return true
}

// multiply sets dst to v s, for a symmetric r x r matrix s.
func multiply(dst, v *kernel.Basis, s []float64) {
	clear(dst.Data())
	gram.AddProduct(dst, v, s)
}
