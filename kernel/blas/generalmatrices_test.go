package blas_test

import (
	"math"
	"math/rand/v2"
)

// general are matrices whose eigenvalues or eigenvectors are hard to compute.
var general = map[string]func(rng *rand.Rand, n int) []float64{
	"random":     func(rng *rand.Rand, n int) []float64 { return random(rng, n, n, 0).data },
	"zero":       entries(func(int, int, int) float64 { return 0 }),
	"one":        entries(func(i, j, _ int) float64 { return unit(i, j) }),
	"all ones":   entries(func(int, int, int) float64 { return 1 }),
	"cyclic":     entries(func(i, j, n int) float64 { return unit((i+1)%n, j) }), // roots of unity
	"nilpotent":  entries(func(i, j, _ int) float64 { return unit(i+1, j) }),     // one eigenvector
	"Jordan":     entries(func(i, j, _ int) float64 { return 3*unit(i, j) + unit(i+1, j) }),
	"triangular": entries(func(i, j, _ int) float64 { return max(0, float64(min(1, i-j+1))) * float64(1+i*j%7) }),
	"Grcar": entries(func(i, j, _ int) float64 {
		return max(0, float64(min(1, 1+3+i-j)))*float64(min(1, max(0, j-i+1))) - unit(i-1, j)
	}),
	"graded":     func(rng *rand.Rand, n int) []float64 { return scaledRows(random(rng, n, n, 0).data, n, 0.5) },
	"unbalanced": func(rng *rand.Rand, n int) []float64 { return scaledRows(random(rng, n, n, 0).data, n, 8) },
	"tiny":       func(rng *rand.Rand, n int) []float64 { return times(random(rng, n, n, 0).data, 0x1p-700) },
	"huge":       func(rng *rand.Rand, n int) []float64 { return times(random(rng, n, n, 0).data, 0x1p900) },
	"rotation":   entries(func(i, j, _ int) float64 { return unit(i, j^1) * float64(1-2*(i&1)) * float64(1+i/2) }),
	"blocks":     blocks,
}

// scaledRows multiplies row i by the power of a number that grows with i up to 10.
func scaledRows(a []float64, n int, by float64) []float64 {
	for i := range a {
		a[i] *= math.Pow(by, 10*float64(i/n)/float64(n))
	}
	return a
}

func times(a []float64, by float64) []float64 {
	for i := range a {
		a[i] *= by
	}
	return a
}

// blocks returns a matrix whose rows and columns fall into three parts, in any order, that balancing can
// set apart.
func blocks(rng *rand.Rand, n int) []float64 {
	a, p := make([]float64, n*n), rng.Perm(n)
	for i := range n {
		for j := range n {
			if 3*i/n == 1 && 3*j/n == 1 || j > i && 3*i/n != 1 && 3*j/n != 1 || i == j {
				a[p[i]*n+p[j]] = rng.NormFloat64()
			}
		}
	}
	return a
}

// eigenSizes are orders with all tails of windows, and of both ends of the ways to compute.
func eigenSizes() (n []int) {
	for k := range 43 {
		n = append(n, k)
	}
	return append(n, 64, 65, 119, 120, 121, 130, 200)
}
