package lsq_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// kinds are ways in which columns come to depend on each other. Each changes a random problem.
var kinds = map[string]func(rng *rand.Rand, p problem){
	"first twice":  func(_ *rand.Rand, p problem) { p.combine(p.r-1, map[int]float64{0: 1}) },
	"pair at once": func(_ *rand.Rand, p problem) { p.combine(min(1, p.r-1), map[int]float64{0: -3}) },
	"zero first":   func(_ *rand.Rand, p problem) { p.combine(0, nil) },
	"zero last":    func(_ *rand.Rand, p problem) { p.combine(p.r-1, nil) },
	"zeros but one": func(rng *rand.Rand, p problem) {
		keep := rng.IntN(p.r)
		for j := range p.r {
			if j != keep {
				p.combine(j, nil)
			}
		}
	},
	"every third": everyThird,
	"first half": func(rng *rand.Rand, p problem) {
		for j := range p.r / 2 {
			p.combine(j, map[int]float64{p.r/2 + j: 1 + rng.Float64()})
		}
	},
	"sum of all": func(_ *rand.Rand, p problem) {
		f := map[int]float64{}
		for j := 1; j < p.r; j++ {
			f[j] = 1
		}
		p.combine(0, f)
	},
	"rows twice": rowsTwice,
	"first row only": func(_ *rand.Rand, p problem) {
		for i := 1; i < p.n; i++ {
			for j := range p.r {
				p.a[j*p.lda+i] = p.a[j*p.lda] * float64(i)
			}
		}
	},
	"graded columns": func(rng *rand.Rand, p problem) { // of norms from 1 to 1e-6
		everyThird(rng, p)
		for j := range p.r {
			floats.Scale(math.Pow(10, -6*float64((7*j)%p.r)/float64(p.r)), p.a[j*p.lda:][:p.n])
		}
	},
	"a large one last": func(_ *rand.Rand, p problem) { // beside which the others look like nothing, and y fits
		f := map[int]float64{}
		for j := range p.r - 1 {
			f[j] = 0x1p33 / float64(j+1)
			floats.Scale(0x1p-33, p.a[j*p.lda:][:p.n])
		}
		p.combine(p.r-1, f)
		floats.SubTo(p.y, p.a[:p.n], p.a[(p.r-1)*p.lda:][:p.n])
	},
	"singular values down to nothing": func(rng *rand.Rand, p problem) {
		p.values(rng, func(q, _ int) float64 { return math.Ldexp(1, -6*q) })
	},
	"a small singular value": func(rng *rand.Rand, p problem) {
		p.values(rng, func(q, k int) float64 { return math.Ldexp(1, -33*(q/max(k-1, 1))) })
	},
	"small singular values": func(rng *rand.Rand, p problem) {
		p.values(rng, func(q, k int) float64 { return math.Ldexp(1, -33*(2*q/k)) })
	},
}

// values makes the matrix one of min(n, r) given singular values.
func (p problem) values(rng *rand.Rand, value func(q, k int) float64) {
	k := min(p.n, p.r)
	left, right := orthonormal(rng, p.n, k), orthonormal(rng, p.r, k)
	for i := range p.n {
		for j := range p.r {
			s := 0.0
			for q := range k {
				s += left.At(i, q) * value(q, k) * right.At(j, q)
			}
			p.a[j*p.lda+i] = s
		}
	}
}

// Where singular values fall slowly many directions are nearly null, and none is the first: what is
// found is a solution of a matrix that differs by no more than what counts as null, and no long one.
func testSlowFall(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for _, r := range []int{4, 5, 6, 8, 10, 16, 20, 30, 60, 100} {
		for _, n := range []int{r / 2, r - 1, r, r + 20} {
			p := random(rng, n, r)
			p.values(rng, func(q, k int) float64 { return math.Pow(1e-22, float64(q)/float64(k)) })
			b, status := p.solve(t, 0)
			if want := map[bool]lsq.Status{true: lsq.Underdetermined, false: lsq.RankDeficient}[n < r]; status != want {
				t.Errorf("%d x %d: status %v", n, r, status)
			}
			size := mat.Norm(p.dense(), 2)
			line := 30 * float64(n+r) * eps * size
			if v := mat.Norm(p.gradient(b), 2); !(v <= line*(size*norm(b)+norm(p.y))) {
				t.Errorf("%d x %d: gradient %g with |b| = %g", n, r, v, norm(b))
			}
			if !(norm(b) <= 900*norm(p.y)/line) {
				t.Errorf("%d x %d: |b| = %g, with |y| = %g", n, r, norm(b), norm(p.y))
			}
		}
	}
}

func rowsTwice(_ *rand.Rand, p problem) {
	for i := 1; i < p.n; i += 2 {
		for j := range p.r {
			p.a[j*p.lda+i] = p.a[j*p.lda+i-1]
		}
	}
}

func everyThird(rng *rand.Rand, p problem) {
	for j := 2; j < p.r; j += 3 {
		p.combine(j, map[int]float64{j - 1: rng.NormFloat64(), j - 2: rng.NormFloat64()})
	}
}

// combine sets column j to a combination of others.
func (p problem) combine(j int, of map[int]float64) {
	for i := range p.n {
		s := 0.0
		for k := range p.r { // in one order
			s += of[k] * p.a[k*p.lda+i]
		}
		p.a[j*p.lda+i] = s
	}
}

func orthonormal(rng *rand.Rand, n, k int) *mat.Dense {
	m := random(rng, n, k).dense()
	var qr mat.QR
	qr.Factorize(m)
	var q mat.Dense
	qr.QTo(&q)
	return mat.DenseCopyOf(q.Slice(0, n, 0, k))
}

// rank counts the singular values above what counts as null. It returns false if one is so
// close to that line that rounding decides.
func (p problem) rank() (k int, decided bool) {
	var svd mat.SVD
	svd.Factorize(p.dense(), mat.SVDNone)
	line := float64(max(p.n, p.r)) * eps * mat.Norm(p.dense(), 2)
	for _, s := range svd.Values(nil) {
		if s > line/30 && s < 30*line {
			return 0, false
		}
		if s > line {
			k++
		}
	}
	return k, true
}

// Every kind of dependence, on every tail and in numbers of any size, against the singular value
// decomposition.
func testDependent(t *testing.T) {
	ranks := []int{33}
	if longtest.Enabled() {
		ranks = append(ranks, 64, 70)
	}
	for r := range 20 {
		ranks = append(ranks, r+1)
	}
	for name, change := range kinds {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(10, uint64(len(name))))
			decided := 0
			for _, r := range ranks {
				for _, n := range []int{1, r / 2, r - 1, r, r + 1, r + 7 + rng.IntN(30)} {
					if n < 1 {
						continue
					}
					p := random(rng, n, r)
					change(rng, p)
					k, beyond := p.rank()
					if !beyond {
						continue
					}
					decided++
					checkRank(t, p, k, 0, 300, -300, 900, -900)
				}
			}
			if decided < 55 {
				t.Errorf("%d of %d matrices have a rank beyond doubt", decided, 6*len(ranks))
			}
		})
	}
}

// Columns that are nearly dependent magnify the rounding of later dependent ones, in few of many random
// matrices to about the line at which these are set apart.
func testMagnifiedRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(5014, 1))
	for range 3000 {
		p := random(rng, 5+rng.IntN(16), 5+rng.IntN(16))
		rowsTwice(rng, p)
		if k, decided := p.rank(); decided {
			checkRank(t, p, k, 0)
		}
	}
}

// checkRank checks status, rank and solution of a problem whose matrix has rank k, scaled by 2^e for each e.
func checkRank(t *testing.T, p problem, k int, exponents ...int) {
	t.Helper()
	want := lsq.OK
	switch {
	case p.n < p.r:
		want = lsq.Underdetermined
	case k < p.r:
		want = lsq.RankDeficient
	}
	x, cond := p.reference(k, 0)
	bound := 0.0 // of a zero matrix
	if k > 0 {
		// What is below the line is a perturbation of the matrix as large as that.
		line := float64(p.n+p.r) * eps
		bound = 30 * line * cond * (norm(x) + cond*norm(p.y)/mat.Norm(p.dense(), 2))
	}
	for _, e := range exponents {
		at := fmt.Sprintf("%d x %d of rank %d, times 2^%d", p.n, p.r, k, e)
		b, result := p.scaled(e, e).result(t, 0)
		if result.Status != want || result.Rank != k {
			t.Errorf("%s: status %v, want %v, rank %d", at, result.Status, want, result.Rank)
		}
		if d := distance(b, x); !(d <= bound) {
			t.Errorf("%s: |b - reference| = %g, want at most %g", at, d, bound)
		}
	}
}
