package kernel_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// A Basis is a matrix for package mat: every product is that of a Dense with the same entries, and goes
// through the raw form, entry by entry never.
func TestBasisInMat(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	for _, shape := range [][2]int{{1, 1}, {7, 3}, {8, 2}, {40, 5}, {131, 16}} {
		d, r := shape[0], shape[1]
		u := randomBasis(rng, d, r)
		same := mat.DenseCopyOf(u)
		var _ mat.RawColViewer = u
		var _ mat.Mutable = u
		raw, ok := u.Untranspose().(mat.RawMatrixer)
		if !ok {
			t.Fatal("a transposed basis has no raw form")
		}
		if m := raw.RawMatrix(); m.Rows != r || m.Cols != d || &m.Data[0] != &u.Data()[0] {
			t.Errorf("raw form of %d x %d with its own memory", m.Rows, m.Cols)
		}
		x := mat.NewDense(20, d, nil)
		x.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, x)
		square := mat.NewDense(r, r, nil)
		square.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, square)
		for name, f := range map[string]func(u mat.Matrix) mat.Matrix{
			"X U":   func(u mat.Matrix) mat.Matrix { var p mat.Dense; p.Mul(x, u); return &p },
			"U' X'": func(u mat.Matrix) mat.Matrix { var p mat.Dense; p.Mul(u.T(), x.T()); return &p },
			"U B":   func(u mat.Matrix) mat.Matrix { var p mat.Dense; p.Mul(u, square); return &p },
			"U' U":  func(u mat.Matrix) mat.Matrix { var p mat.Dense; p.Mul(u.T(), u); return &p },
			"U U'":  func(u mat.Matrix) mat.Matrix { var p mat.Dense; p.Mul(u, u.T()); return &p },
			"U + U": func(u mat.Matrix) mat.Matrix { var p mat.Dense; p.Add(u, u); return &p },
			"2 U'":  func(u mat.Matrix) mat.Matrix { var p mat.Dense; p.Scale(2, u.T()); return &p },
			"copy":  func(u mat.Matrix) mat.Matrix { return mat.DenseCopyOf(u.T().T()) },
			"U b": func(u mat.Matrix) mat.Matrix {
				var p mat.VecDense
				p.MulVec(u, square.ColView(0))
				return &p
			},
			"U' x":      func(u mat.Matrix) mat.Matrix { var p mat.VecDense; p.MulVec(u.T(), x.RowView(0)); return &p },
			"last row":  func(u mat.Matrix) mat.Matrix { return mat.NewDense(1, r, mat.Row(nil, d-1, u)) },
			"last col":  func(u mat.Matrix) mat.Matrix { return mat.NewDense(d, 1, mat.Col(nil, r-1, u)) },
			"of a copy": func(u mat.Matrix) mat.Matrix { return kernel.BasisOf(u) },
		} {
			if got, want := f(u), f(same); !mat.EqualApprox(got, want, 1e-13) {
				t.Errorf("%d x %d, %s: differs from a Dense", d, r, name)
			}
		}
		var qr, other mat.QR
		qr.Factorize(u)
		other.Factorize(same)
		if norm, want := mat.Norm(u, 2), mat.Norm(same, 2); !(norm-want < 1e-14 && want-norm < 1e-14) ||
			qr.Cond() != other.Cond() {
			t.Errorf("%d x %d: norm %v and condition %v, want %v and %v", d, r, norm, qr.Cond(), want, other.Cond())
		}
		u.Set(d-1, r-1, 5)
		last := u.RawColView(r - 1)[d-1]
		if u.At(d-1, r-1) != 5 || last != 5 || u.T().At(r-1, d-1) != 5 || !slices.Equal(u.RawColView(0), u.Col(0)) {
			t.Errorf("%d x %d: Set is not seen", d, r)
		}
	}
}
