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
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
)

func table(t *testing.T, features ...string) *dataset.Table {
	t.Helper()
	table, err := dataset.NewTable(features, true)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// drawn returns the tables of so many nodes, of tasks that differ by an intercept and along one direction.
func drawn(t *testing.T, seed uint64, nodes, tasks, rows int) []*dataset.Table {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	list := make([]*dataset.Table, nodes)
	for g := range list {
		table := table(t, "age", "dose", "weight")
		for k := range tasks {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			for range rows + rng.IntN(3) {
				x := []float64{50 + 10*rng.NormFloat64(), math.Exp(rng.NormFloat64()), rng.NormFloat64()}
				y := 3 + a + .05*x[0] + math.Sin(2*x[2]) + b*((x[0]-50)/10+x[2]) + .3*rng.NormFloat64()
				if err := table.Append(fmt.Sprintf("site %d, task %d", g, k), x, y); err != nil {
					t.Fatal(err)
				}
			}
		}
		list[g] = table
	}
	return list
}

func weights(t *testing.T, kind string, nodes int) *topology.Weights {
	t.Helper()
	g, err := topology.Parse(kind, nodes, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func together(t *testing.T, list []*dataset.Table, c Config) (*model.Model, *Report) {
	t.Helper()
	net, err := consensus.New(weights(t, "complete", len(list)), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, r, err := Train(t.Context(), list, net, c)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

// laidOut returns the frame of all tables in one process, with their design.
func laidOut(t *testing.T, list []*dataset.Table) *frame {
	t.Helper()
	net, err := consensus.New(weights(t, "complete", len(list)), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &frame{ctx: t.Context(), net: net, c: &Config{}}
	s.introduce(list)
	s.addCurves(s.standardise())
	s.hold()
	return s
}

// apart trains in groups of nodes, each of which stands for a process.
func apart(t *testing.T, list []*dataset.Table, groups [][]int, c Config,
	change func(node int, tr wire.Transport) (wire.Transport, context.Context)) ([]*model.Model, []error) {
	t.Helper()
	w := weights(t, "path", len(list))
	transports, err := testnet.Connect(w.Graph(), groups, testnet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	models, errs := make([]*model.Model, len(groups)), make([]error, len(groups))
	var wait sync.WaitGroup
	for i, tr := range transports {
		ctx := t.Context()
		if change != nil {
			tr, ctx = change(i, tr)
		}
		wait.Go(func() {
			defer tr.Close()
			net, err := consensus.New(w, tr)
			if err == nil {
				var own []*dataset.Table
				for _, g := range groups[i] {
					own = append(own, list[g])
				}
				models[i], _, err = Train(ctx, own, net, c)
			}
			errs[i] = err
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
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
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
		if math.Abs(center-mean) > 1e-9 || math.Abs(scale-sd) > 1e-9 {
			t.Errorf("column %d: center %v, scale %v, want %v and %v", j, center, scale, mean, sd)
		}
	}
}

// An objective is its dense form: rows of the design of all tables.
type objective struct {
	x    [][]float64
	y    []float64
	task []int
	n    int
	d, p int
	r    Ridges
	kind []model.Column
}

// value minimises over mu, a and b for a given U, by the normal equations of all of them.
func (o *objective) value(u *mat.Dense) float64 {
	_, r := u.Dims()
	w := o.p + o.n*(1+r)
	a, c := mat.NewDense(w, w, nil), mat.NewVecDense(w, nil)
	for j, k := range o.kind {
		a.Set(j, j, [...]float64{model.Linear: o.r[Linear], model.Bend: o.r[Curve], model.Constant: 0}[k.Kind])
	}
	for k := range o.n {
		a.Set(o.p+k*(1+r), o.p+k*(1+r), o.r[Intercept])
		for j := range r {
			a.Set(o.p+k*(1+r)+1+j, o.p+k*(1+r)+1+j, o.r[Direction])
		}
	}
	total := 0.0
	v := mat.NewVecDense(w, nil)
	for i, x := range o.x {
		v.Zero()
		for j, e := range x {
			v.SetVec(j, e)
		}
		at := o.p + o.task[i]*(1+r)
		v.SetVec(at, 1)
		for j := range r {
			v.SetVec(at+1+j, floats.Dot(x[1:1+o.d], mat.Col(nil, j, u)))
		}
		a.RankOne(a, 1, v, v)
		c.AddScaledVec(c, o.y[i], v)
		total += o.y[i] * o.y[i]
	}
	var b mat.VecDense
	if err := b.SolveVec(a, c); err != nil {
		return math.Inf(1)
	}
	return total - mat.Dot(&b, c)
}

// orthonormal returns the U that d x r numbers span.
func (o *objective) orthonormal(v []float64, r int) *mat.Dense {
	var qr mat.QR
	qr.Factorize(mat.NewDense(o.d, r, slices.Clone(v)))
	var q mat.Dense
	qr.QTo(&q)
	return mat.DenseCopyOf(q.Slice(0, o.d, 0, r))
}

// lowest returns the smallest value that a quasi-Newton method finds from six starts.
func (o *objective) lowest(rank int) float64 {
	lowest := math.Inf(1)
	f := func(v []float64) float64 { return o.value(o.orthonormal(v, rank)) }
	problem := optimize.Problem{Func: f, Grad: func(grad, v []float64) {
		for i := range v {
			w := slices.Clone(v)
			w[i] += 1e-5
			up := f(w)
			w[i] -= 2e-5
			grad[i] = (up - f(w)) / 2e-5
		}
	}}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 6 {
		start := make([]float64, o.d*rank)
		for i := range start {
			start[i] = rng.NormFloat64()
		}
		if res, err := optimize.Minimize(problem, start, nil, &optimize.BFGS{}); res != nil && (err == nil || res.F < lowest) {
			lowest = min(lowest, res.F)
		}
	}
	return lowest
}

// Train finds the minimiser that a quasi-Newton method finds on all rows at once, from wherever that starts.
func TestMinimiser(t *testing.T) {
	for _, rank := range []int{1, 2} {
		t.Run(fmt.Sprintf("rank %d", rank), func(t *testing.T) {
			list, ridges := drawn(t, 5, 2, 4, 8), Ridges{.5, 2, 3, .7}
			s := laidOut(t, list)
			us, still := s.alternate([]basis{{set: folds}}, rank, &ridges, alternations, lastIterations)
			if !still {
				t.Error("U still moves")
			}
			o := &objective{d: len(s.design.Scale), p: s.design.Width(), r: ridges, kind: s.design.Columns()}
			for g, table := range list {
				read, z := s.nodes[g].reader(), make([]float64, o.p)
				for row := range table.Rows() {
					x, y := read(row)
					s.design.Apply(z, x)
					o.y = append(o.y, s.target.Standardize(y))
					o.x = append(o.x, slices.Clone(z))
					o.task = append(o.task, o.n+table.Task(row))
				}
				o.n += len(table.Tasks())
			}
			if len(s.design.Curves) != 3 {
				t.Errorf("%d curves, want 3", len(s.design.Curves))
			}
			u := mat.NewDense(o.d, rank, nil)
			for j := range rank {
				u.SetCol(j, us[0].u.Col(j)[:o.d])
			}
			got, lowest := o.value(u), o.lowest(rank)
			if !(math.Abs(got-lowest) <= 1e-6*lowest) {
				t.Errorf("objective %.9f, of a quasi-Newton method %.9f", got, lowest)
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
		"large outlier": func(k, i int) ([]float64, float64) {
			return []float64{math.Pow(10, float64(i/5*k)), float64(i)}, float64(i + k)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, nodes := range []int{1, 2} {
				var list []*dataset.Table
				for g := range nodes {
					table := table(t, "a", "b")
					tasks, rows := 4, 7
					if name == "one row" {
						tasks, rows = 28, 1
					}
					for k := range tasks {
						for i := range rows {
							x, y := row(tasks*g+k, i)
							if err := table.Append(fmt.Sprintf("task %d of %d", k, g), x, y); err != nil {
								t.Fatal(err)
							}
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

// The noise of a model is about that of the data: of standard deviation .3 here.
func TestNoise(t *testing.T) {
	list := drawn(t, 8, 3, 15, 40)
	m, _ := together(t, list, Config{})
	p, err := m.PredictError(list[0].Tasks()[0], list[0].X(make([]float64, 3), 0))
	if err != nil {
		t.Fatal(err)
	}
	if sd := math.Sqrt(p.SampleError*p.SampleError - p.StandardError*p.StandardError); sd < .27 || sd > .35 {
		t.Errorf("the noise has the standard deviation %v, want about .3", sd)
	}
}
