package difalt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel"
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
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, a := range [][]float64{{v}, {v, 0, 0, 1}, {1, v, v, 1}, {1, 0, 0, 0, 1, v, 0, v, 2}} {
			n := int(math.Sqrt(float64(len(a))))
			if got := largestEigenvalue(a, n, make([]float64, 2*n)); !math.IsNaN(got) {
				t.Errorf("of a %d x %d matrix with %v: %v", n, n, v, got)
			}
		}
	}
}

// Eigenvalues known in closed form, of either sign and of many sizes: those of the
// second difference matrix are 2 - 2 cos(k pi/(n+1)), and minus those.
func TestLargestOfSecondDifferences(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 50} {
		for _, scale := range []float64{1, -1, 1e-100, 1e100} {
			a := make([]float64, n*n)
			for i := range n {
				a[i*n+i] = 2 * scale
				if i > 0 {
					a[i*n+i-1], a[(i-1)*n+i] = -scale, -scale
				}
			}
			k := float64(n)
			if scale < 0 {
				k = 1
			}
			want := scale * (2 - 2*math.Cos(k*math.Pi/float64(n+1)))
			if got := largestEigenvalue(a, n, make([]float64, 2*n)); !(math.Abs(got-want) <= 1e-14*math.Abs(4*scale)) {
				t.Errorf("n = %d, scale %g: %v, want %v", n, scale, got, want)
			}
		}
	}
}

// Tasks are compressed where a short run gains by it: with many samples for each feature, and a large rank.
func TestCompressed(t *testing.T) {
	for _, c := range []struct{ samples, d, rank, want int }{
		{1000, 20, 4, 21}, {5000, 100, 5, 101}, {21, 20, 4, 21}, {30, 600, 4, 30}, {22, 20, 1, 22}, {700, 600, 4, 700}, {0, 5, 1, 0},
	} {
		k := kernel.NewBuilder(c.d, []int{c.samples, c.samples}, kernel.Float64).Tasks()
		if got := compressed(k, c.rank).Samples(1); got != c.want {
			t.Errorf("%d samples of %d features, rank %d: %d rows, want %d", c.samples, c.d, c.rank, got, c.want)
		}
	}
}
