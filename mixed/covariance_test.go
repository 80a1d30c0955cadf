package mixed

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
)

// fewRowsTable draws tasks of 0 to 3 rows and of many, beside 15 features.
func fewRowsTable(t *testing.T) (table *Data, held []bool) {
	table = drawing{tasks: 8, rows: 1, features: 15, levels: 1, slopes: .4, noise: .5}.table(t, 6)
	random := rand.New(rand.NewPCG(2, 3))
	for k, rows := range []int{0, 0, 1, 1, 2, 2, 40, 60} {
		for range rows {
			x := make([]float64, 15)
			for j := range x {
				x[j] = random.NormFloat64()
			}
			add(t, table, table.TaskNames[k], random.NormFloat64(), x...)
		}
	}
	held = make([]bool, table.Rows())
	held[0] = true
	return table, held
}

// reducedTask returns synthetic parameters where the first task has a reduced covariance.
func reducedTask() Parameters {
	p := synthetic()
	c := Covariance{Root: make([]float64, 18), Shares: []float64{.5, 1}, MeanFactor: 1.2}
	for i := range c.Root {
		c.Root[i] = math.Sin(float64(i * i))
	}
	p.Tasks.Covariances[0] = c
	p.Tasks.Strengths = &Strengths{Widening: 1.1, Groups: []int{0, 1, 1, 1, 1, 1, 1, -1, 1},
		Variances: slices.Repeat([]float64{.1}, 9)}
	return p
}

// A reduced covariance and its packed form have the variances of the covariance of the solver, with the
// uncertainty of the mean and of strengths that one and several columns share.
func TestReducedCovariances(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	table, held := fewRowsTable(t)
	f := &fitter{in: &Input{Table: table, HeldOut: held}}
	check.Done(f.read(t.Context()))
	for _, s := range []*stats{f.plain, f.curved} {
		for name, ownStrengths := range map[string]bool{"common strengths": false, "own strengths": true} {
			q := s.start()
			q.rank, q.w = 2, make([]float64, 2*s.linear)
			for i := range q.w {
				q.w[i] = .3 * random.NormFloat64()
			}
			if ownStrengths {
				q.sigma = nil
				for j := range q.group {
					q.group[j], q.sigma = j/2, append(q.sigma, .1+float64(j%3))
				}
			}
			m, z, err := s.evaluate(t.Context(), q)
			check.Done(err)
			c := &choice{s: s, optimum: optimum{q: q, m: m, z: z}}
			list, strengths, err := c.covariances(t.Context(), 9, mostCovariances)
			check.Done(err)
			check.FailIf(t, slices.ContainsFunc(s.allTasks(), s.isHeld), "tasks are held beside their covariances")
			model := &Model{p: Parameters{
				Mean: m.mean, MeanCovariance: dense.Pack(nil, s.p, m.c), Prior: *m.prior,
				Tasks: Tasks{Covariances: list, Strengths: strengths},
			}}
			check.Done(strengths.check(s.p))
			reduced := 0
			for k := range list {
				w := s.worker(t.Context())
				check.Done(s.set(w, m.prior, k))
				want := make([]float64, s.p*s.p)
				w.solver.Coefficients(make([]float64, s.p), want, m.mean, c.uncertain(w, strengths))
				floats.Scale(strengths.Widening, want)
				packed := dense.Pack(nil, s.p, want)
				if list[k].Packed == nil {
					reduced++
					check.FailIf(t, list[k].numbers() > len(packed)/2, "task %d: %d numbers", k, list[k].numbers())
					check.Done(list[k].check("covariance", s.p, 1))
				}
				const format = "%s, %d columns, task %d: %v, want %v"
				got := model.covariance(k)
				check.FailIf(t, !floats.EqualApprox(got, packed, 1e-10), format, name, s.p, k, got, packed)
				for range 5 {
					x := make([]float64, s.p)
					for j := range x {
						x[j] = random.NormFloat64()
					}
					v, u := model.variance(k, x), quadratic(packed, x)
					check.FailIf(t, !(math.Abs(v-u) <= 1e-10*u), format, name, s.p, k, v, u)
				}
				s.idle.Put(w)
			}
			check.FailIf(t, reduced != 6, "%d covariances of %d are reduced, of %d columns", reduced, len(list), s.p)
		}
	}
}

// A model with packed and reduced covariances is the same after it was saved; rows that it learns make a
// covariance packed, with the posterior that a packed one would give.
func TestSomeReduced(t *testing.T) {
	table, held := fewRowsTable(t)
	m, _ := fitted(t, table, Options{NoCurves: true}, held...)
	p := m.Parameters()
	reduced, all := 0, p
	all.Tasks.Covariances, all.Tasks.Strengths = slices.Clone(p.Tasks.Covariances), nil
	for k, c := range p.Tasks.Covariances {
		if c.Packed == nil {
			reduced++
			all.Tasks.Covariances[k] = Covariance{Packed: m.covariance(k)}
		}
	}
	check.FailIf(t, reduced == 0 || reduced == len(p.Tasks.Names), "%d covariances are reduced", reduced)
	packed := check.OK(New(all))
	more := newTable(t, table.Names...)
	for k := range 3 {
		x := make([]float64, 15)
		x[k] = 2
		add(t, more, p.Tasks.Names[k+2], 1, x...)
	}
	one, other := check.OK(m.Adapt(t.Context(), more)), check.OK(packed.Adapt(t.Context(), more))
	for _, m := range []*Model{m, one} {
		again := check.OK(readBytes(bytesOf(t, m)))
		check.FailIf(t, !bytes.Equal(bytesOf(t, again), bytesOf(t, m)), "a loaded model is saved with other bytes")
	}
	x := make([]float64, 15)
	for j := range x {
		x[j] = math.Sin(float64(3 * j))
	}
	for k, name := range append(slices.Clone(p.Tasks.Names), "new") {
		for i, pair := range [][2]*Model{{m, packed}, {one, other}, {check.OK(readBytes(bytesOf(t, one))), other}} {
			a, b := check.OK(pair[0].PredictError(name, x)), check.OK(pair[1].PredictError(name, x))
			near(t, fmt.Sprintf("prediction %d of task %d", i, k), a.Value, b.Value)
			near(t, fmt.Sprintf("error %d of task %d", i, k), a.StandardError, b.StandardError)
		}
	}
	for task, want := range map[int]bool{2: true, 3: true, 4: true, 5: false} {
		got := one.Parameters().Tasks.Covariances[task].Packed != nil
		check.FailIf(t, got != want, "task %d: packed is %v after three tasks have learned rows", task, got)
	}
}

// New and Load refuse reduced covariances that do not fit.
func TestReducedRefused(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(k *Tasks)
	}{
		{"reduced covariances of tasks and no strengths", func(k *Tasks) { k.Strengths = nil }},
		{`covariance of task "n": array "root" has 17 entries: 18 are required`,
			func(k *Tasks) { k.Covariances[0].Root = make([]float64, 17) }},
		{`covariance of task "n": array "shares": entry 1 is 1.5`,
			func(k *Tasks) { k.Covariances[0].Shares = []float64{0, 1.5} }},
		{`covariance of task "n": array "mean_factor": entry 0 is NaN`,
			func(k *Tasks) { k.Covariances[0].MeanFactor = math.NaN() }},
		{"the widening of covariances is 0", func(k *Tasks) { k.Strengths.Widening = 0 }},
		{"8 groups of strengths of 9 columns", func(k *Tasks) { k.Strengths.Groups = k.Strengths.Groups[1:] }},
		{"the group of the strength of column 8 is 0, after 1", func(k *Tasks) { k.Strengths.Groups[8] = 0 }},
		{`array "strength_variance": entry 3 is -1`, func(k *Tasks) { k.Strengths.Variances[3] = -1 }},
		{"strengths of covariances and no covariances", func(k *Tasks) { k.Covariances = nil }},
	} {
		p := reducedTask()
		check.OK(New(p))
		c.change(&p.Tasks)
		_, err := New(p)
		check.Error(t, err, c.want)
	}
}
