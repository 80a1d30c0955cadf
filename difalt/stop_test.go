package difalt_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// TestFloorOfRounding asks for more digits than there are: what cannot be improved has
// converged, and stops. It is as near as rounding lets it, and took about as long as twice the
// way to 1e-8.
func TestFloorOfRounding(t *testing.T) {
	methods := []difalt.Method{difalt.ScaledDiffusion, difalt.GradientTracking, difalt.Accelerated, difalt.AcceleratedTracking}
	for _, kappa := range []float64{1.5, 10, 30} {
		s := conditioned(1, 5, 40, 80, 3, 25, kappa)
		net := network(t, "complete", 5, topology.Metropolis, 1)
		for _, method := range methods {
			for _, polynomial := range []consensus.Polynomial{consensus.Plain, consensus.Tree} {
				name := fmt.Sprintf("kappa %g, %v, %v", kappa, method, polynomial)
				o := difalt.Options{Rank: 3, Method: method, Tolerance: 1e-8, Agreement: consensus.Agreement{Polynomial: polynomial}}
				half := run(t, s.Problem, net, o)
				o.Tolerance = 1e-300
				res := run(t, s.Problem, net, o)
				if limit := 2*half.Iterations + 20; res.Status != difalt.Converged || res.Iterations > limit {
					t.Errorf("%s: %v after %d iterations with a residual of %.2g, want converged within %d", name, res.Status, res.Iterations, res.Residual, limit)
				}
				// A tracked gradient keeps the rounding of the first ones, of kappa^2 the size.
				if far := 2e-15 * (kappa + kappa*kappa); res.Last.SDMax > far {
					t.Errorf("%s: %.2g from the truth, want below %.2g", name, res.Last.SDMax, far)
				}
			}
		}
	}
}

// TestConvergedCurve asks for all iterations, as curves do, of a run that looks at its noise:
// it has them, and then says that it has converged.
func TestConvergedCurve(t *testing.T) {
	s := conditioned(1, 5, 40, 80, 3, 25, 1.5)
	for _, iterations := range []int{45, 120} { // past the tolerance, and past all digits
		res := run(t, s.Problem, network(t, "complete", 5, topology.Metropolis, 1), difalt.Options{
			Rank: 3, Method: difalt.AcceleratedTracking, EveryIteration: true, StopAtNoise: true, Iterations: iterations,
		})
		if res.Status != difalt.Converged || res.Iterations != iterations || res.Last.SDMax > 1e-10 {
			t.Errorf("%v after %d of %d iterations, %.2g from the truth", res.Status, res.Iterations, iterations, res.Last.SDMax)
		}
	}
}

// TestShorterStep: a run whose steps are too long is told so, one that is slow is not.
func TestShorterStep(t *testing.T) {
	for _, noise := range []float64{0, 0.1} {
		s := noisy(2, 5, 40, 80, 3, 25, 3, noise)
		net := network(t, "ring", 5, topology.Metropolis, 1)
		initial, err := difalt.Initialize(t.Context(), s.Problem, net, difalt.Options{Rank: 3})
		if err != nil {
			t.Fatal(err)
		}
		s.U0 = initial.U
		for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin, difalt.DecAltGDmin} {
			for _, c := range []struct {
				times float64
				long  bool
			}{{0.2, false}, {0.5, false}, {3.5, true}, {4.5, true}} {
				var log bytes.Buffer
				o := difalt.Options{Rank: 3, Method: method, Step: c.times * initial.Step, Iterations: 150, Logger: slog.New(slog.NewTextHandler(&log, nil))}
				res := run(t, s.Problem, net, o)
				if said := strings.Contains(log.String(), "shorter step"); res.Status != difalt.Diverged && said != c.long {
					t.Errorf("noise %g, %v, %g times the step: %v after %d iterations, and the log says %s", noise, method, c.times, res.Status, res.Iterations, &log)
				}
			}
		}
	}
}
