package difalt_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// TestScaledBehaviour repeats independent measurements of the scaled step, with
// L=10, d=100, T=200, n=30, r=4, p=.5: iterations to SD 1e-3, 1e-6 and 1e-10. The
// condition number must not matter. Medians over three seeds agree within three
// iterations and a tenth.
func TestScaledBehaviour(t *testing.T) {
	inFull(t)
	for _, c := range []struct {
		kappa, step float64
		rounds      int
		want        [3]int
	}{
		{1.5, 0.7, 10, [3]int{14, 33, 60}},
		{5, 0.7, 10, [3]int{16, 35, 62}},
		{10, 0.7, 10, [3]int{17, 36, 63}},
		{1.5, 1.0, 10, [3]int{9, 22, 43}},
		{5, 1.0, 10, [3]int{10, 23, 40}},
	} {
		t.Run(fmt.Sprintf("kappa=%g/s=%g", c.kappa, c.step), func(t *testing.T) {
			got := iterationsTo(t, c.kappa, difalt.Options{Method: difalt.ScaledDiffusion, Scaled: difalt.ScaledOptions{Step: c.step}, Rounds: c.rounds})
			for i, want := range c.want {
				if math.Abs(float64(got[i]-want)) > 3+0.1*float64(want) {
					t.Errorf("%d iterations, want %d: %v against %v", got[i], want, got, c.want)
				}
			}
		})
	}
}

// TestLittleMixing runs one round an iteration, where the full scaled step makes
// the nodes drive one another around the solution: the damping must find a step
// that converges. Tracking the gradient needs two rounds for the full step.
func TestLittleMixing(t *testing.T) {
	inFull(t)
	for _, kappa := range []float64{1.5, 10} {
		scaled := iterationsTo(t, kappa, difalt.Options{Method: difalt.ScaledDiffusion, Rounds: 1, Iterations: 250})
		if scaled[2] < 0 || scaled[2] > 240 {
			t.Errorf("kappa %g, scaled, one round: %d iterations to 1e-10", kappa, scaled[2])
		}
		tracking := iterationsTo(t, kappa, difalt.Options{Method: difalt.GradientTracking, Rounds: 2, Iterations: 160})
		if tracking[2] < 0 || tracking[2] > 150 {
			t.Errorf("kappa %g, tracking, two rounds: %d iterations to 1e-10", kappa, tracking[2])
		}
	}
}

// iterationsTo returns the medians over three seeds of the iterations until every
// node is within 1e-3, 1e-6 and 1e-10 of U*; -1 for a run that does not arrive.
func iterationsTo(t *testing.T, kappa float64, o difalt.Options) [3]int {
	t.Helper()
	var all [3][]float64
	for seed := range uint64(3) {
		s := conditioned(seed+1, 10, 100, 200, 4, 30, kappa)
		net := network(t, "er:0.5", 10, topology.Metropolis, seed+1)
		o.Rank, o.Seed, o.Initialization.Rounds, o.Iterations = 4, seed, 20, max(o.Iterations, 100)
		recs := curve(t, s.Problem, net, o)
		for i, tol := range []float64{1e-3, 1e-6, 1e-10} {
			arrived := math.Inf(1)
			for _, r := range recs {
				if r.SDMax < tol {
					arrived = float64(r.Iteration)
					break
				}
			}
			all[i] = append(all[i], arrived)
		}
	}
	var its [3]int
	for i := range its {
		its[i] = -1
		if m := median(all[i]); !math.IsInf(m, 1) {
			its[i] = int(m)
		}
	}
	return its
}

// TestSilence: an event trigger that the scaled and accelerated methods accept costs at
// most twice the iterations, and spares messages.
func TestSilence(t *testing.T) {
	inFull(t)
	for _, method := range []difalt.Method{difalt.ScaledDiffusion, difalt.GradientTracking, difalt.Accelerated, difalt.AcceleratedTracking} {
		for seed, graph := range []string{"er:0.5", "ring", "er:0.5", "ring"}[:draws(2, 4)] {
			s := conditioned(uint64(seed+1), 10, 60, 100, 3, 25, 3)
			net := network(t, graph, 10, topology.Metropolis, uint64(seed+1))
			o := difalt.Options{Method: method, Rank: 3, Rounds: 10, Iterations: 150}
			loud := curve(t, s.Problem, net, o)
			for _, trigger := range []float64{0.3, 0.5} {
				o.Agreement.Trigger = trigger
				recs := curve(t, s.Problem, net, o)
				if k, want := arrival(recs, 1e-8), arrival(loud, 1e-8); !(k <= 2*want) {
					t.Errorf("%v, %s, trigger %v: %v iterations, without %v", method, graph, trigger, k, want)
				}
				if silent := float64(recs[len(recs)-1].Traffic.Silent); silent == 0 {
					t.Errorf("%v, %s, trigger %v: nobody is silent", method, graph, trigger)
				}
			}
		}
	}
}

// TestZeroCoefficients starts the scaled step where every b_t is zero: P is
// singular, and the iteration must stand still, say so, and not divide by zero.
func TestZeroCoefficients(t *testing.T) {
	s, net := small(t)
	for g := range s.y {
		for k := range s.y[g] {
			clear(s.y[g][k])
		}
	}
	s.rebuild()
	initial, err := difalt.Initialize(t.Context(), s.Problem, net, difalt.Options{Rank: 2})
	if err == nil {
		t.Fatalf("all responses are zero, but sigma_max^2 = %g", initial.SigmaSquared)
	}
	first, _ := small(t)
	initial, err = difalt.Initialize(t.Context(), first.Problem, net, difalt.Options{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	s.U0 = initial.U
	recs := curve(t, s.Problem, net, difalt.Options{Rank: 2, Method: difalt.ScaledDiffusion, Step: 1, Iterations: 5})
	if last := recs[len(recs)-1]; math.IsNaN(last.SDMax) || math.Abs(last.SDMax-recs[0].SDMax) > 1e-12 {
		t.Errorf("after 5 iterations without a signal: %+v", last)
	}
}
