package private_test

import (
	"math"
	"testing"

	"github.com/difalt/difalt/private"
)

// TestMembership takes the part of an attacker that knows every task but one, and of that one that it adds
// its largest vector, or nothing: with real noise, over four sums whose directions follow from the totals
// before. The frequencies of the best test bound epsilon from below. The bound must not exceed what the
// account says, and must come close to it: the account does not add noise that it does not need either.
func TestMembership(t *testing.T) {
	const epsilon, delta, nodes, runs = 1, .01, 2, 60_000
	net := network(t, nodes)
	// statistic returns the logarithm of the likelihood ratio of a run with the task against one without it.
	statistic := func(present bool) (ratio float64) {
		a, angle := account(t, epsilon, delta, 0), 0.0
		for _, part := range []float64{.1, .2, .2, 0} {
			rho := part * a.Budget()
			if part == 0 {
				rho = a.Left()
			}
			direction := []float64{math.Cos(angle), math.Sin(angle)}
			total, err := a.Sum(t.Context(), net, "a sum", rho, []int{1, 0}, 2, func(_, _ int, v []float64) {
				if present {
					copy(v, direction)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			along := total.Values[0]*direction[0] + total.Values[1]*direction[1]
			ratio += (along - .5) / (total.Deviation * total.Deviation)
			angle = total.Values[0]
		}
		return ratio
	}
	// The test decides for the task above a likelihood ratio of e^epsilon.
	hits, alarms := 0.0, 0.0
	for range runs {
		if statistic(true) > epsilon {
			hits++
		}
		if statistic(false) > epsilon {
			alarms++
		}
	}
	hits, alarms = hits/runs, alarms/runs
	// P(hit) <= e^epsilon P(alarm) + delta, with equality for exact noise; six standard errors of the
	// difference.
	error := 6 * math.Sqrt((hits*(1-hits)+math.Exp(2*epsilon)*alarms*(1-alarms))/runs)
	spent := hits - math.Exp(epsilon)*alarms
	if spent > delta+error {
		t.Errorf("hits %.4f, alarms %.4f: delta is at least %.4f at epsilon %v, the account says %v", hits, alarms,
			spent-error, epsilon, delta)
	}
	lower := math.Log((hits - delta - error) / alarms)
	t.Logf("hits %.4f, alarms %.4f: epsilon is above %.3f of %v", hits, alarms, lower, epsilon)
	if !(lower > .5*epsilon) {
		t.Errorf("hits %.4f, alarms %.4f: epsilon is above %.3f only, of %v", hits, alarms, lower, epsilon)
	}
}

// TestAgainst: the budget that an account states against one of two nodes is what this node sees, which knows
// its own noise: half of the variance is left, and the rho twice as large.
func TestAgainst(t *testing.T) {
	a := account(t, 1, .01, 0)
	if _, err := a.Sum(t.Context(), network(t, 2), "a sum", a.Budget(), []int{1, 0}, 1, func(_, _ int, v []float64) {
		v[0] = 1
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := a.Against(1, 2), private.Epsilon(2*a.Budget(), .01); math.Abs(got-want) > 1e-9*want {
		t.Errorf("epsilon against a node is %v, want %v", got, want)
	}
}
