package difalt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// extrapolated computes an iteration of Anderson acceleration from its definition: us and gs are all iterates
// and their images, of which the last changes are used. It returns g - sum_a c_a dg_a with the c that
// minimise |l - sum_a c_a dl_a|^2 + 1e-10 tr(dl'dl) |c|^2.
func extrapolated(us, gs []*mat.VecDense) *mat.VecDense {
	n, size := len(us), us[0].Len()
	k := min(n-1, memoryLen)
	dl, dg := mat.NewDense(size, k, nil), mat.NewDense(size, k, nil)
	residual := func(i int) *mat.VecDense {
		l := mat.NewVecDense(size, nil)
		l.SubVec(gs[i], us[i])
		return l
	}
	for a := range k {
		i := n - k + a
		for j := range size {
			dl.Set(j, a, residual(i).AtVec(j)-residual(i-1).AtVec(j))
			dg.Set(j, a, gs[i].AtVec(j)-gs[i-1].AtVec(j))
		}
	}
	var gram mat.Dense
	var rhs, c, correction, next mat.VecDense
	gram.Mul(dl.T(), dl)
	trace := mat.Trace(&gram)
	for a := range k {
		gram.Set(a, a, gram.At(a, a)+1e-10*trace)
	}
	rhs.MulVec(dl.T(), residual(n-1))
	if err := c.SolveVec(&gram, &rhs); err != nil {
		return gs[n-1]
	}
	correction.MulVec(dg, &c)
	if l, most := mat.Norm(&correction, 2), 2*mat.Norm(residual(n-1), 2); l > most {
		correction.ScaleVec(most/l, &correction)
	}
	next.SubVec(gs[n-1], &correction)
	return &next
}

// TestAnderson compares the iterates on a contraction g(u) = u + M (tanh(u*) - tanh(u)) with the definition,
// for more iterations than the memory holds.
func TestAnderson(t *testing.T) {
	const d = 16
	rng := rand.New(rand.NewPCG(3, 4))
	m, end := mat.NewDense(d, d, nil), mat.NewVecDense(d, nil)
	for i := range d {
		end.SetVec(i, rng.NormFloat64())
		for j := range d {
			m.Set(i, j, .02*rng.NormFloat64())
		}
		m.Set(i, i, .1+.05*float64(i))
	}
	image := func(u *mat.VecDense) *mat.VecDense {
		l, g := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
		for i := range d {
			l.SetVec(i, math.Tanh(end.AtVec(i))-math.Tanh(u.AtVec(i)))
		}
		g.MulVec(m, l)
		g.AddVec(u, g)
		return g
	}
	n := newAnderson(len(kernel.NewBasis(d, 1).Data()))
	var us, gs []*mat.VecDense
	u := mat.NewVecDense(d, nil)
	for i := range memoryLen + 6 {
		us, gs = append(us, u), append(gs, image(u))
		in, out := kernel.NewBasis(d, 1), kernel.NewBasis(d, 1)
		copy(in.Col(0), u.RawVector().Data)
		copy(out.Col(0), gs[i].RawVector().Data)
		n.extrapolate(out, in, false)
		want := gs[i]
		if i > 0 {
			want = extrapolated(us, gs)
		}
		if n.filled < min(i, memoryLen) {
			t.Fatalf("iteration %d: the memory holds %d changes", i, n.filled)
		}
		for j, v := range out.Col(0) {
			if e := math.Abs(v - want.AtVec(j)); !(e <= 1e-7*(1+math.Abs(v))) {
				t.Fatalf("iteration %d: entry %d is %v, want %v", i, j, v, want.AtVec(j))
			}
		}
		u = mat.NewVecDense(d, append([]float64(nil), out.Col(0)...))
	}
}

// TestAndersonRestarts: the memory is emptied when the residual exceeds twice the least of the last ones, and
// older ones do not count.
func TestAndersonRestarts(t *testing.T) {
	for name, c := range map[string]struct {
		norms   []float64
		restart bool
	}{
		"falls":              {[]float64{1, .5, .25}, false},
		"twice the least":    {[]float64{1, .5, .25, .5}, false},
		"above":              {[]float64{1, .5, .25, .51}, true},
		"the least is old":   {[]float64{.25, .4, .4, .4, .4, .4, .4, .4, .4, .4, .4, .6}, false},
		"the least is young": {[]float64{.25, .4, .4, .4, .4, .4, .4, .4, .4, .4, .6}, true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAnderson(8)
			for _, v := range c.norms {
				n.filled = 3
				n.restartIfWorse(v)
			}
			if restarted := n.filled == 0; restarted != c.restart {
				t.Errorf("restarted: %v", restarted)
			}
		})
	}
}

// TestAndersonWithoutChange: an iteration that repeats itself has no changes to extrapolate from, and keeps
// g.
func TestAndersonWithoutChange(t *testing.T) {
	n := newAnderson(8)
	if !math.IsInf(n.length(), 1) {
		t.Errorf("length %v before the first iteration", n.length())
	}
	u, g := kernel.NewBasis(8, 1), kernel.NewBasis(8, 1)
	for i := range g.Col(0) {
		g.Col(0)[i] = float64(i)
	}
	for range 3 {
		out := g.Clone()
		n.extrapolate(out, u, false)
		if !mat.Equal(out, g) || n.length() != mat.Norm(g, 2) {
			t.Fatalf("extrapolated to %v, length %v", out.Data(), n.length())
		}
	}
	n.restart()
	if n.hasLast || n.filled != 0 {
		t.Error("restart keeps the last iteration")
	}
}
