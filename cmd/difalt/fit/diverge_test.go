package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/difalt"
)

// firms is a table like those of firms of very different size, features in proportion to it: what
// suits the largest is too long a step near others.
func firms(t *testing.T, seed uint64) *dataset.Table {
	t.Helper()
	rng, tab, x := rand.New(rand.NewPCG(seed, 3)), emptyTable(t, 3), make([]float64, 3)
	for task := range 8 {
		size := math.Exp(1.5 * rng.NormFloat64())
		a, b := rng.NormFloat64(), rng.NormFloat64()
		for range 6 {
			for j := range x {
				x[j] = size * math.Exp(rng.NormFloat64())
			}
			if err := tab.Append(fmt.Sprint(task), "", x, x[0]*(1+a)+x[1]*b+size*rng.NormFloat64()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return assigned(t, tab, 2)
}

// Some of the runs on these tables diverge: starts (26, 38), or bases and the last run. The evidence
// has loadings of its own, so that the fit goes on.
func TestDivergedRunsAreNoFailure(t *testing.T) {
	for _, c := range []struct {
		seed uint64
		rank int
	}{{2, 0}, {2, 1}, {22, 2}, {26, 2}, {36, 0}, {38, 2}} {
		m, r := fit(t, firms(t, c.seed), testConfig(t, 2, c.rank))
		for _, v := range m.Parameters().Theta {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%+v: coefficients are not finite", c)
			}
		}
		// Whatever was chosen explains the training rows at least as well as shrunken intercepts.
		if got, other := r.Scores[0].Train.RMSE, r.Scores[1].Train.RMSE; !(got <= other*1.01) {
			t.Errorf("%+v: RMSE %v, %s %v", c, got, r.Scores[1].Method, other)
		}
	}
}

// A last run that diverges is in the notes, and leaves the loadings of the evidence; a step that the caller
// has chosen, and with which it diverges, is an error.
func TestDivergedLastRun(t *testing.T) {
	tab := newTruth(1, 8, 1).table(t, 40, 12, 20, 4)
	c := testConfig(t, 4, 2)
	_, good := fit(t, tab, c)
	c.Drive = func(ctx context.Context, s *difalt.Solver) (*difalt.Result, error) {
		res, err := s.Run(ctx)
		if err == nil {
			res.Status, err = difalt.Diverged, difalt.ErrDiverged
		}
		return res, err
	}
	_, r := fit(t, tab, c)
	if r.Converged || r.Result.Status != difalt.Diverged {
		t.Errorf("converged %v, status %v", r.Converged, r.Result.Status)
	}
	if notes := strings.Join(r.Notes, " "); !strings.Contains(notes, "has not converged") || !strings.Contains(notes, "diverged after") {
		t.Errorf("notes %q", notes)
	}
	if got, want := r.Scores[0].Train.RMSE, good.Scores[0].Train.RMSE; !(math.Abs(got/want-1) < 1e-6) {
		t.Errorf("training RMSE %v, otherwise %v", got, want)
	}
	c.Options.Step = 0.1
	if _, _, err := Fit(t.Context(), tab, c); !errors.Is(err, difalt.ErrDiverged) {
		t.Errorf("with a step of the caller: %v", err)
	}
}
