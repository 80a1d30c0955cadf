package experiment

import (
	"context"
	"math"

	"github.com/difalt/difalt/difalt"
)

// The problems of a Sweep. With rich data the start is good for every kappa, and
// the graph does not matter. With scarce data and two tasks a node the local
// gradients are mostly noise that averaging must remove.
var (
	richSetting = Setting{
		Nodes: 10, Features: 40, Tasks: 120, Samples: 30, Rank: 3,
		Graph: "er:0.5", Weights: "metropolis", Rounds: 20, InitRounds: 40, PowerIterations: 60, Iterations: 1,
		Time: PaperTime,
	}
	scarceSetting = Setting{
		Nodes: 20, Features: 40, Tasks: 40, Samples: 30, Rank: 3,
		Graph: "er:0.3", Weights: "metropolis", Rounds: 40, InitRounds: 2000, PowerIterations: 60, Iterations: 1,
		Time: PaperTime,
	}
)

const (
	// roundsSlack is how many more iterations than AltGDmin a method may take for its
	// rounds to count as enough.
	roundsSlack = 1.25
	// startSlack does the same for the subspace distance of the start.
	startSlack = 1.1
	// longestSweep limits the iterations of a descent to a multiple of kappa^2 and of
	// log(1/epsilon).
	longestSweep = 20
	// mostRounds limits T_con.
	mostRounds = 4096
)

// descend returns the iterations after which the largest subspace distance of a
// node is first at most sweepEpsilon[i]; +Inf where it is not within the limit.
func (p *probe) descend(ctx context.Context, method difalt.Method, rounds int, lowest float64, limit int) ([]float64, error) {
	o := p.setting.Options(1)
	o.Method, o.Rounds, o.Step, o.Iterations = method, rounds, p.step, limit+1
	first := make([]float64, len(sweepEpsilon))
	for i := range first {
		first[i] = math.Inf(1)
	}
	distance := 1.0
	o.Observer = func(rec *difalt.Record) {
		distance = rec.SDMax
		for i, e := range sweepEpsilon {
			if distance <= e && math.IsInf(first[i], 1) {
				first[i] = float64(rec.Iteration)
			}
		}
	}
	solver, err := difalt.NewSolver(p.problem, &difalt.Network{Weights: p.weights}, o)
	if err != nil {
		return nil, err
	}
	defer solver.Close()
	for k := 0; k <= limit && distance > lowest; k++ {
		if err := solver.Step(ctx); err != nil {
			return first, ctx.Err() // otherwise an estimate is not finite: it has diverged
		}
	}
	return first, nil
}

// limit returns the most iterations of a descent to a distance.
func (p *probe) limit(epsilon float64) int {
	return int(longestSweep * p.setting.Kappa * p.setting.Kappa * -math.Log(epsilon))
}

// iterations measures T_GD for every epsilon.
func (p *probe) iterations(ctx context.Context) error {
	lowest := sweepEpsilon[len(sweepEpsilon)-1]
	first, err := p.descend(ctx, difalt.DifAltGDmin, p.setting.Rounds, lowest, p.limit(lowest))
	for i, e := range sweepEpsilon {
		p.add(QuantityIterations, difalt.DifAltGDmin, e, found(first[i]))
	}
	return err
}

// rounds measures the smallest T_con with which Dif- and Dec-AltGDmin reach an
// epsilon in about the iterations of AltGDmin.
func (p *probe) rounds(ctx context.Context) error {
	const lowest = 1e-8
	ideal, err := p.descend(ctx, difalt.AltGDmin, 1, lowest, p.limit(lowest))
	if err != nil {
		return err
	}
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.DecAltGDmin} {
		known := map[int][]float64{}
		for i, e := range sweepEpsilon {
			if i%2 == 0 || e < lowest {
				continue // every second decade
			}
			fewest, err := smallest(1, mostRounds, func(rounds int) (bool, error) {
				if known[rounds] == nil {
					var err error
					if known[rounds], err = p.descend(ctx, method, rounds, lowest, int(roundsSlack*ideal[7])+1); err != nil {
						return false, err
					}
				}
				return known[rounds][i] <= roundsSlack*ideal[i], nil
			})
			if err != nil {
				return err
			}
			p.add(QuantityRounds, method, e, fewest)
		}
	}
	return nil
}

// samples measures the smallest n with which Dif-AltGDmin reaches 1e-6.
func (p *probe) samples(ctx context.Context) error {
	const lowest = 1e-6
	s := p.setting
	fewest, err := smallest(s.Rank, 32*s.Features, func(n int) (bool, error) {
		q := &probe{setting: s, trial: p.trial}
		q.setting.Samples = n
		var err error
		if q.problem, q.weights, q.step, err = q.setting.Start(ctx, q.trial, 1); err != nil {
			return false, err
		}
		first, err := q.descend(ctx, difalt.DifAltGDmin, s.Rounds, lowest, q.limit(lowest))
		return !math.IsInf(first[5], 1), err
	})
	p.add(QuantitySamples, difalt.DifAltGDmin, lowest, fewest)
	return err
}

// power measures the smallest T_pm after which more iterations improve the start by
// no more than startSlack, and initRounds the same for T_con,init.
func (p *probe) power(ctx context.Context) error {
	return p.start(ctx, QuantityPower, 1, 1024, func(o *difalt.Options, n int) { o.PowerIterations = n })
}

func (p *probe) initRounds(ctx context.Context) error {
	// With fewer rounds node 1's estimate does not reach all others.
	least := max(1, p.weights.Graph().Diameter())
	return p.start(ctx, QuantityInitRounds, least, mostRounds, func(o *difalt.Options, n int) { o.InitRounds = n })
}

func (p *probe) start(ctx context.Context, quantity string, least, most int, set func(o *difalt.Options, n int)) error {
	p.problem.U0 = nil
	distance := func(n int) (float64, error) {
		o := p.setting.Options(1)
		set(&o, n)
		start, err := difalt.Initialize(ctx, p.problem, &difalt.Network{Weights: p.weights}, o)
		if err != nil {
			return 0, err
		}
		return difalt.SubspaceDistance(start.U[0], p.problem.Truth), nil
	}
	best, err := distance(most)
	if err != nil {
		return err
	}
	fewest, err := smallest(least, most, func(n int) (bool, error) {
		d, err := distance(n)
		return d <= startSlack*best, err
	})
	p.add(quantity, difalt.DifAltGDmin, best, fewest)
	return err
}

// smallest returns the smallest n between least and most that is enough, NaN if
// none is. More than enough must be enough.
func smallest(least, most int, enough func(n int) (bool, error)) (float64, error) {
	low, n := least-1, least
	for { // low is not enough
		ok, err := enough(n)
		if err != nil {
			return math.NaN(), err
		}
		if ok {
			break
		}
		if n == most {
			return math.NaN(), nil
		}
		low, n = n, min(2*n, most)
	}
	for n-low > 1 {
		middle := low + (n-low)/2
		ok, err := enough(middle)
		if err != nil {
			return math.NaN(), err
		}
		if ok {
			n = middle
		} else {
			low = middle
		}
	}
	return float64(n), nil
}

// found turns what was not reached into NaN.
func found(x float64) float64 {
	if math.IsInf(x, 1) {
		return math.NaN()
	}
	return x
}
