package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

func TestNoiseByTask(t *testing.T) {
	even := drawing{tasks: 30, rows: 20, features: 3, levels: 1, noise: 1}
	uneven := even
	uneven.uneven = 4
	for name, c := range map[string]struct {
		d            drawing
		common, want bool
	}{"even": {even, false, false}, "uneven": {uneven, false, true}, "uneven, common noise": {uneven, true, false}} {
		t.Run(name, func(t *testing.T) {
			table := c.d.table(t, 7)
			m, _ := fitted(t, table, Options{CommonNoise: c.common})
			p := m.Parameters()
			if got := p.Tasks.Noise != nil; got != c.want {
				t.Fatalf("noise by task: %v, want %v", got, c.want)
			}
			squares := make([]float64, c.d.tasks)
			prior := p.Prior.Noise // of the residuals in units of the target's scale
			eachRow(t, m, table, make([]bool, table.Rows()), func(k int, p Prediction, y float64, _ bool) {
				squares[k] += math.Pow((y-p.Value)/m.Parameters().Target.Scale, 2)
			})
			for k, v := range p.Tasks.Noise {
				want := []float64{4, 1}[k%2]
				if sd := math.Sqrt(v) * p.Target.Scale; sd < want/1.8 || sd > want*1.8 {
					t.Errorf("task %d: noise %v, want about %v", k, sd, want)
				}
				got := p.Tasks.Freedom[k]*v - prior.TaskFreedom*prior.Variance
				check.FailIf(t, math.Abs(got/squares[k]-1) > 0.1, "task %d: squares %v, want %v", k, got, squares[k])
			}
		})
	}
}

// A direction that stands for the noise of one task goes where rows count by the noise of their tasks.
func TestLoudTaskIsNoDirection(t *testing.T) {
	table := drawing{tasks: 60, rows: 24, features: 12, rank: 2, length: 1, noise: 1, loud: 5}.table(t, 1)
	f := &fitter{in: &Input{Table: table, HeldOut: holdOut(table)}, Options: Options{NoCurves: true}}
	check.Done(f.read(t.Context()))
	alike := check.OK(f.choose(t.Context()))
	loud := check.OK(f.weighTasks(t.Context(), alike, check.OK(alike.noiseOfTasks(t.Context(), alike.s.tasks))))
	check.FailIf(t, alike.Rank != 3 || loud.Rank != 2,
		"rank %d with equal noise, want 3, and %d with noise by task, want 2", alike.Rank, loud.Rank)
}

// Where optimisers use some of the tasks, noise by task is compared on these, and then found for all of them.
func TestNoiseOfSomeTasks(t *testing.T) {
	table := drawing{tasks: 150, rows: 12, features: 3, levels: 1, slopes: .5, noise: 1, uneven: 9}.table(t, 1)
	f := &fitter{in: &Input{Table: table}, Options: Options{NoCurves: true}}
	check.Done(f.read(t.Context()))
	alike := check.OK(f.choose(t.Context()))
	alike.s.some = alike.s.someTasks(2000)
	check.FailIf(t, alike.s.some == alike.s.tasks, "optimisers use all tasks")
	c := check.OK(f.chooseNoise(t.Context(), alike))
	check.FailIf(t, f.alike || f.noise == nil, "rows count alike: %v, noise by task: %v", f.alike, f.noise != nil)
	m, _, err := c.s.evaluate(t.Context(), c.q)
	check.FailIf(t, err != nil || math.Abs(m.evidence-c.evidence) > 1e-9*math.Abs(m.evidence),
		"evidence %v, of all tasks %v (%v)", c.evidence, m.evidence, err)
}

// Noise by task keeps the rank where rows count alike: here a direction predicts a quarter of the tasks, and
// is small beside the noise that the likelihood gives them.
func TestAlikeRowsKeepTheirRank(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 13))
	table := newTable(t, "a", "b", "c", "d", "e", "f")
	for k := range 40 {
		size, score := math.Exp(.7*r.NormFloat64()), .3*r.NormFloat64()
		if k%4 != 0 {
			score = 0
		}
		for range 12 {
			x := make([]float64, 6)
			for j := range x {
				x[j] = r.NormFloat64()
			}
			y := size * (1 + float64(score*(x[0]+x[1]-x[2]+x[3])) + float64(.1*r.NormFloat64()))
			add(t, table, fmt.Sprint("t", k), y, x...)
		}
	}
	m, byTask := fitted(t, table, Options{NoCurves: true}, holdOut(table)...)
	_, common := fitted(t, table, Options{NoCurves: true, CommonNoise: true}, holdOut(table)...)
	if n := m.Parameters().Prior.Noise; n.Alike == 0 || n.TaskFreedom == 0 {
		t.Fatalf("noise %+v: want widths by task alone", n)
	}
	got, want := byTask.Scores[0].Test.RMSE, common.Scores[0].Test.RMSE
	check.FailIf(t, got > 1.001*want, "rank %d has the error %v, rank %d with common noise %v",
		chosenOf(byTask).Rank, got, chosenOf(common).Rank, want)
}

// The degrees of freedom and the scale of drawn variances come back.
func TestFitNoiseRecoversTheDistribution(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	chi := func(df int) (sum float64) {
		for range df {
			x := r.NormFloat64()
			sum += x * x
		}
		return sum
	}
	differ, alike := make([]residualSS, 4000), make([]residualSS, 4000)
	for k := range differ {
		differ[k], alike[k] = residualSS{8 * 2.5 / chi(8) * chi(12), 12}, residualSS{2.5 * chi(12), 12}
	}
	differ = append(differ, residualSS{1e9, 0.5}) // too few degrees of freedom to count
	one := &rows{sums: Local{}}
	found := check.OK(fitNoise(t.Context(), one, differ))
	usual, freedom, gain := found.usual, found.freedom, found.gain
	check.FailIf(t, math.Abs(usual/2.5-1) > 0.05 || freedom < 6.5 || freedom > 10 || gain < 100,
		"scale %v, %v degrees of freedom, gain %v: want 2.5, 8 and much", usual, freedom, gain)
	if found := check.OK(fitNoise(t.Context(), one, alike)); found.freedom < 300 || found.gain > 3 {
		t.Errorf("equal variances have %v degrees of freedom with gain %v", found.freedom, found.gain)
	}
}

// The noise of tasks in the weights has the distribution of the residuals that these weights give, not of
// those about equal noise, which is wider here: loud tasks have nine times the noise.
func TestNoiseFollowsItsWeights(t *testing.T) {
	table := drawing{tasks: 40, rows: 8, features: 4, levels: 1, slopes: .5, noise: 1, uneven: 9}.table(t, 1)
	f := &fitter{in: &Input{Table: table}, Options: Options{NoCurves: true}}
	check.Done(f.read(t.Context()))
	alike := check.OK(f.choose(t.Context()))
	first := check.OK(alike.noiseOfTasks(t.Context(), alike.s.tasks))
	w := check.OK(alike.weighTasks(t.Context(), alike.s.tasks, first, polish))
	list := check.OK(w.s.residualsOfTasks(t.Context(), w.m, w.s.tasks))
	last := check.OK(fitNoise(t.Context(), w.s.rows, w.s.tasks.inOrder(list)))
	near := func(v float64) bool { return math.Abs(v/last.usual-1) < .2 }
	check.FailIf(t, !near(w.noise.usual) || near(first.usual),
		"the scale of the noise is %v: it was %v, and would be %v", w.noise.usual, first.usual, last.usual)
}
