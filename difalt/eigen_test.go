package difalt

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestLargestEigenvalue compares with gonum's for Gram matrices of many sizes and
// spectra, multiple eigenvalues and zero included.
func TestLargestEigenvalue(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := 1; n <= 24; n++ {
		for trial := range 40 {
			m := mat.NewDense(n+trial%3, n, nil)
			for i := range m.RawMatrix().Data {
				m.RawMatrix().Data[i] = rng.NormFloat64()
			}
			for j := range n { // from equal to vanishing columns
				c := math.Pow(10, -float64(trial%8)*float64(j))
				for i := range n + trial%3 {
					m.Set(i, j, c*m.At(i, j))
				}
			}
			var gram mat.SymDense
			gram.SymOuterK(1, m.T())
			if trial == 7 {
				gram = *mat.NewSymDense(n, nil)
			}
			if trial == 8 {
				for i := range n {
					for j := range n {
						gram.SetSym(i, j, 3)
					}
				}
			}
			var eig mat.EigenSym
			if !eig.Factorize(&gram, false) {
				t.Fatal("no eigenvalues")
			}
			values := eig.Values(nil)
			want := values[n-1]
			a := make([]float64, n*n)
			for i := range n {
				for j := range n {
					a[i*n+j] = gram.At(i, j)
				}
			}
			got := largestEigenvalue(a, n, make([]float64, 2*n))
			if math.Abs(got-want) > 1e-13*math.Abs(want) {
				t.Errorf("n = %d, trial %d: %v, want %v", n, trial, got, want)
			}
		}
	}
	if got := largestEigenvalue([]float64{1, math.NaN(), math.NaN(), 1}, 2, make([]float64, 4)); !math.IsNaN(got) {
		t.Errorf("of a matrix with NaN: %v", got)
	}
}
