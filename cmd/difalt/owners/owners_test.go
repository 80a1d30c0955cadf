package owners

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/mixed"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
)

// drawn returns the tables of so many nodes, of tasks that differ by an intercept and along one direction.
func drawn(t *testing.T, seed uint64, nodes, tasks, rows int) []*dataset.Table {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	list := make([]*dataset.Table, nodes)
	for g := range list {
		table := check.OK(dataset.NewTable([]string{"age", "dose", "weight"}, true))
		for k := range tasks {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			for range rows + rng.IntN(3) {
				x := []float64{50 + 10*rng.NormFloat64(), math.Exp(rng.NormFloat64()), rng.NormFloat64()}
				y := 3 + a + .05*x[0] + math.Sin(2*x[2]) + b*((x[0]-50)/10+x[2]) + .3*rng.NormFloat64()
				check.Done(table.Append(fmt.Sprintf("site %d, task %d", g, k), x, y))
			}
		}
		list[g] = table
	}
	return list
}

func weights(kind string, nodes int) *topology.Weights {
	return check.OK(topology.NewWeights(check.OK(topology.Parse(kind, nodes, 1)), topology.Metropolis))
}

// network returns a network of nodes in one process.
func network(nodes int) *consensus.Network {
	return check.OK(consensus.New(weights("complete", nodes), nil))
}

func together(t *testing.T, list []*dataset.Table, c Config) (*mixed.Model, *Report) {
	t.Helper()
	m, r, err := Train(t.Context(), list, network(len(list)), c)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

// split returns the choice of training rows of every table.
func split(list []*dataset.Table) (train [][]bool) {
	for _, table := range list {
		train = append(train, check.OK(table.Split(dataset.Split{TestFraction: .3})))
	}
	return train
}

// laidOut returns the frame of all tables in one process, with their design.
func laidOut(t *testing.T, list []*dataset.Table) *frame {
	t.Helper()
	s := &frame{ctx: t.Context(), net: network(len(list)), c: &Config{}}
	s.introduce(list)
	s.addCurves(s.standardise())
	s.hold()
	return s
}

// apart trains in groups of nodes, each of which stands for a process.
func apart(t *testing.T, list []*dataset.Table, groups [][]int, c Config,
	change func(node int, tr transport.Transport) (transport.Transport, context.Context)) ([]*mixed.Model, []error) {
	t.Helper()
	w := weights("path", len(list))
	transports := check.OK(testnet.Connect(w.Graph(), groups))
	models, errs := make([]*mixed.Model, len(groups)), make([]error, len(groups))
	var wait sync.WaitGroup
	for i, tr := range transports {
		ctx := t.Context()
		if change != nil {
			tr, ctx = change(i, tr)
		}
		wait.Go(func() {
			defer tr.Close()
			var own []*dataset.Table
			for _, g := range groups[i] {
				own = append(own, list[g])
			}
			models[i], _, errs[i] = Train(ctx, own, check.OK(consensus.New(w, tr)), c)
		})
	}
	wait.Wait()
	return models, errs
}

func TestSameBits(t *testing.T) {
	list := drawn(t, 3, 4, 5, 9)
	one, r := together(t, list, Config{Workers: 3})
	if len(r.Candidates) < 2 {
		t.Fatalf("candidates: %v", r.Candidates)
	}
	for name, groups := range map[string][][]int{"four": {{0}, {1}, {2}, {3}}, "two": {{0, 2}, {1, 3}}} {
		t.Run(name, func(t *testing.T) {
			models, errs := apart(t, list, groups, Config{Workers: 1}, nil)
			check.Done(errors.Join(errs...))
			for i, group := range groups {
				for _, g := range group {
					for _, task := range list[g].Tasks() {
						for _, x := range [][]float64{{40, 1, 0}, {61, .2, -2}} {
							want, _, err1 := one.Predict(task, x)
							got, known, err2 := models[i].Predict(task, x)
							if err1 != nil || err2 != nil || !known || got != want {
								t.Errorf("node %d, task %q: predicts %v, in one process %v (%v, %v)", g, task, got, want, err1, err2)
							}
						}
					}
				}
			}
		})
	}
}

// Columns have the mean and the standard deviation of all rows, and knots lie at quantiles of them.
func TestDesign(t *testing.T) {
	list := drawn(t, 4, 3, 8, 60)
	s := laidOut(t, list)
	columns := make([][]float64, 4)
	for _, table := range list {
		for row := range table.Rows() {
			for j, v := range append(table.X(make([]float64, 3), row), table.Y(row)) {
				columns[j] = append(columns[j], v)
			}
		}
	}
	for j, v := range columns {
		slices.Sort(v)
		mean, sd := stat.PopMeanStdDev(v, nil)
		center, scale := s.target.Center, s.target.Scale
		if j < 3 {
			center, scale = s.design.Center[j], s.design.Scale[j]
			knots, below := s.design.Curves[j].Knots, 0
			for k, q := range knots {
				below, _ = slices.BinarySearch(v, q)
				if want := .01 + .98*float64(k)/7; math.Abs(float64(below)/float64(len(v))-want) > .025 { // the outer cells are open
					t.Errorf("column %d: %d of %d rows lie below knot %d", j, below, len(v), k)
				}
			}
			if first, _ := slices.BinarySearch(v, knots[0]); first < 5 || len(v)-below < 5 || len(knots) != 8 {
				t.Errorf("column %d: %d rows lie before %d knots, and %d behind", j, first, len(knots), len(v)-below)
			}
		}
		check.FailIf(t, math.Abs(center-mean) > 1e-9 || math.Abs(scale-sd) > 1e-9,
			"column %d: center %v, scale %v, want %v and %v", j, center, scale, mean, sd)
	}
}

// informationOf returns M, h and the objective for mu = 0 of all tasks in a set, by the solver of mixed
// models.
func informationOf(t *testing.T, s *frame, b basis, r *ridges) []float64 {
	t.Helper()
	p, square := s.design.Width(), 0.0
	m, h := make([]float64, p*p), make([]float64, p)
	var solver mixed.Solver
	for _, g := range s.nodes {
		for k := range g.tasks {
			x, y := g.tasks[k].set(b.set)
			for sign, y := range [][]float64{make([]float64, len(y)), y} {
				check.Done(solver.Set(prior(s, b.u, r), taskOf(x, y)))
				square += float64(2*sign-1) * solver.Deviance() // log det V cancels
			}
			solver.AddInformation(m, h)
		}
	}
	return append(append(dense.Pack(nil, p, m), h...), square)
}

// value returns the objective of a U over all rows, least over mu, a and b.
func value(t *testing.T, s *frame, u *kernel.Basis, r *ridges) float64 {
	t.Helper()
	return check.OK(s.solve(informationOf(t, s, basis{folds, u}, r), r)).value
}

// prior returns the prior of deviations from mu in units of the noise.
func prior(s *frame, u *kernel.Basis, r *ridges) *mixed.Prior {
	p, d := s.design.Width(), len(s.level)
	_, rank := u.Dims()
	prior := &mixed.Prior{Deviations: make([]float64, p), Rank: rank, Loadings: make([]float64, p*rank), Noise: mixed.Noise{Variance: 1}}
	prior.Deviations[0] = 1 / math.Sqrt(r[intercept])
	for k := range rank {
		floats.ScaleTo(prior.Loadings[k*p+1:][:d], 1/math.Sqrt(r[direction]), u.Col(k)[:d])
	}
	return prior
}

func taskOf(x blas64.General, y []float64) *mixed.Task {
	return &mixed.Task{Rows: len(y), X: x.Data, Y: y, YY: floats.Dot(y, y)}
}

// The directions have the objective that a quasi-Newton method finds, from wherever that starts.
func TestMinimiser(t *testing.T) {
	for _, rank := range []int{1, 2} {
		t.Run(fmt.Sprintf("rank %d", rank), func(t *testing.T) {
			strengths := ridges{.5, 2, 3, .7}
			s := laidOut(t, drawn(t, 5, 2, 4, 8))
			us, still := s.alternate([]basis{{set: folds}}, rank, &strengths, alternations, lastIterations)
			check.FailIf(t, !still || len(s.design.Curves) != 3,
				"U still moves, or %d curves are not 3", len(s.design.Curves))
			f := func(v []float64) float64 {
				var qr mat.QR
				var q mat.Dense
				qr.Factorize(mat.NewDense(3, rank, slices.Clone(v)))
				qr.QTo(&q)
				u := kernel.NewBasis(3, rank)
				for k := range rank {
					mat.Col(u.Col(k)[:3], k, &q)
				}
				return value(t, s, u, &strengths)
			}
			lowest, rng := math.Inf(1), rand.New(rand.NewPCG(1, 1))
			problem := optimize.Problem{Func: f, Grad: func(grad, v []float64) { fd.Gradient(grad, f, v, &fd.Settings{Formula: fd.Central}) }}
			for range 6 {
				from := make([]float64, 3*rank)
				for i := range from {
					from[i] = rng.NormFloat64()
				}
				if res, _ := optimize.Minimize(problem, from, nil, &optimize.BFGS{}); res != nil {
					lowest = min(lowest, res.F)
				}
			}
			if got := value(t, s, us[0].u, &strengths); !(math.Abs(got-lowest) <= 1e-6*lowest) {
				t.Errorf("objective %.9f, of a quasi-Newton method %.9f", got, lowest)
			}
		})
	}
}

// The information, the errors of a fold and the posteriors by F of rank 3 are those of the solver of mixed
// models, for tasks with fewer rows than columns and with more.
func TestSpan(t *testing.T) {
	for name, rows := range map[string]int{"short tasks": 7, "tall tasks": 200} {
		t.Run(name, func(t *testing.T) {
			s := laidOut(t, drawn(t, 11, 1, 6, rows))
			p, strengths, u := s.design.Width(), &ridges{intercept: .3, direction: 2}, kernel.NewBasis(3, 2)
			u.Col(0)[0], u.Col(0)[1], u.Col(1)[2] = .6, .8, 1
			mean := make([]float64, p)
			for j := range p {
				mean[j] = math.Sin(float64(j))
			}
			x := s.span(basis{1, u}, strengths)
			var solver mixed.Solver
			loss := 0.0
			for k := range s.nodes[0].tasks {
				task := &s.nodes[0].tasks[k]
				check.Done(solver.Set(prior(s, u, strengths), taskOf(task.set(1))))
				theta := make([]float64, p)
				solver.Coefficients(theta, nil, mean, nil)
				got := x.theta(0, k, dense.General(1, p, mean)).Data
				check.FailIf(t, !floats.EqualApprox(got, theta, 1e-9), "the posterior of task %d differs", k)
				loss += taskOf(task.fold(1)).Residual(theta)
			}
			if got, want := s.informations([]*span{x})[0], informationOf(t, s, x.basis, strengths); !floats.EqualApprox(got, want, 1e-9*floats.Norm(want, 2)) {
				t.Error("the information differs")
			}
			if got := s.losses(0, x, dense.General(2, p, append(make([]float64, p), mean...)))[1]; math.Abs(got-loss) > 1e-9*loss {
				t.Errorf("the loss is %v, want %v", got, loss)
			}
		})
	}
}

// Tables at the edge of what can be estimated train, and predict finite numbers.
func TestEdges(t *testing.T) {
	for name, row := range map[string]func(k, i int) ([]float64, float64){
		"exact": func(k, i int) ([]float64, float64) {
			x := float64(i*i%7) + .1*float64(k)
			return []float64{x, -x}, 3*x + float64(k)
		},
		"constant": func(_, i int) ([]float64, float64) { return []float64{5, 7}, float64(i * 13 % 7) },
		"one row":  func(k, _ int) ([]float64, float64) { return []float64{float64(k), float64(k * k)}, float64(k * 5 % 7) },
		"far apart": func(k, i int) ([]float64, float64) {
			return []float64{1e11 + float64(i), 1e-11 * float64(i*k)}, 1e-9 * float64(i*3%5)
		},
		// Most values lie closely together, so that knots would coincide.
		"dense": func(k, i int) ([]float64, float64) {
			x := 1e-9 * math.Exp(float64(3*k+2*i))
			return []float64{x, 1 + 1e-6*math.Pow(1.7, float64(7*k+i))}, float64(i * 5 % 7)
		},
		"large outlier": func(k, i int) ([]float64, float64) {
			return []float64{math.Pow(10, float64(i/5*k)), float64(i)}, float64(i + k)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, nodes := range []int{1, 2} {
				var list []*dataset.Table
				for g := range nodes {
					table := check.OK(dataset.NewTable([]string{"a", "b"}, true))
					tasks, rows := 4, 7
					if name == "one row" {
						tasks, rows = 28, 1
					}
					for k := range tasks {
						for i := range rows {
							x, y := row(tasks*g+k, i)
							check.Done(table.Append(fmt.Sprintf("task %d of %d", k, g), x, y))
						}
					}
					list = append(list, table)
				}
				m, _ := together(t, list, Config{})
				if y, _, err := m.Predict("task 1 of 0", []float64{2, 1}); err != nil || math.IsNaN(y) || math.IsInf(y, 0) {
					t.Errorf("%d nodes: predicts %v, %v", nodes, y, err)
				}
			}
		})
	}
}
