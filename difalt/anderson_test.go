package difalt

import (
	"math"
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

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

// TestAndersonLongest: from residuals that hardly change a correction has at most twice the length of the
// residual.
func TestAndersonLongest(t *testing.T) {
	n := newAnderson(8)
	for i, length := range []float64{3, 3 - 1e-9} {
		u, g := kernel.NewBasis(8, 1), kernel.NewBasis(8, 1)
		g.Col(0)[1] = float64(i)
		u.Col(0)[0], u.Col(0)[1] = -length, float64(i)
		out := g.Clone()
		n.extrapolate(out, u, false)
		if moved := floats.Distance(out.Data(), g.Data(), 2); math.Abs(moved-2*length*float64(i)) > 1e-8 {
			t.Errorf("iteration %d: a correction of length %v, the residual has %v", i, moved, length)
		}
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
