package mixed

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A drawing is how a table is drawn: y = 3 + level_t + x'(mean + slopes_t + U b_t) + noise.
type drawing struct {
	tasks, rows, features int
	mean                  []float64
	levels, slopes        float64 // standard deviations over tasks
	rank                  int
	length                float64 // of the directions
	noise                 float64
	curve                 func(x float64) float64 // of the first feature; nil for none
	uneven                float64                 // factor of the noise of every other task; 0 for none
	loud                  float64                 // factor of the noise of the first task; 0 for none
}

func (d drawing) table(t *testing.T, seed uint64) *Data {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	names := make([]string, d.features)
	for j := range names {
		names[j] = fmt.Sprintf("x%d", j)
	}
	table := newTable(t, names...)
	for k := range d.tasks {
		slopes, scores, level := make([]float64, d.features), make([]float64, d.rank), d.levels*r.NormFloat64()
		for a := range scores {
			scores[a] = d.length * r.NormFloat64()
		}
		for j := range slopes {
			slopes[j] = d.slopes * r.NormFloat64()
			if d.mean != nil {
				slopes[j] += d.mean[j]
			}
			if d.rank > 0 && j/2 < d.rank { // direction a is that of the features 2a and 2a + 1
				slopes[j] += scores[j/2]
			}
		}
		noise := d.noise
		if d.uneven > 0 && k%2 == 0 {
			noise *= d.uneven
		}
		if d.loud > 0 && k == 0 {
			noise *= d.loud
		}
		for range d.rows {
			x, y := make([]float64, d.features), level+3
			for j := range x {
				x[j] = r.NormFloat64()
				y += x[j] * slopes[j]
			}
			if d.curve != nil {
				y += d.curve(x[0])
			}
			add(t, table, fmt.Sprintf("t%02d", k), y+noise*r.NormFloat64(), x...)
		}
	}
	return table
}

func newTable(t *testing.T, features ...string) *Data {
	t.Helper()
	return &Data{Names: features}
}

func add(t *testing.T, table *Data, task string, y float64, x ...float64) {
	t.Helper()
	check.Done(table.Append(task, y, x...))
}

// holdOut marks every fourth row as held out.
func holdOut(t *Data) []bool {
	held := make([]bool, t.Rows())
	for i := range held {
		held[i] = i%4 == 3
	}
	return held
}

// statsOf returns the stats of a table under the design with or without curves.
func statsOf(t *testing.T, table *Data, curves bool, workers int) *stats {
	t.Helper()
	r := check.OK(newRows(context.Background(), &Input{Table: table}, &Options{}))
	d := r.newDesign()
	if curves {
		var err error
		if d, _, err = r.addCurves(context.Background(), d, nil); err != nil {
			t.Fatal(err)
		}
	}
	return check.OK(newStats(context.Background(), r, &d, workers))
}

// evaluate returns the sums at variance components.
func (s *stats) evaluate(ctx context.Context, q *varianceComponents) (*meanPosterior, *scoreSums, error) {
	e := &evaluation{s: s, tasks: s.tasks, q: q}
	err := evaluateEvidence(ctx, []*evaluation{e}, nil, nil)
	if err == nil && e.err == nil {
		err = evaluateScores(ctx, []*evaluation{e}, nil, func() {})
		e.m.evidence += q.penalty()
	}
	return e.m, e.z, cmp.Or(err, e.err)
}

// weighted sets x and y to the rows of a design and the standardised targets, with their weights.
func (r *rows) weighted(d *Design, x, y []float64) {
	r.fill(x, r.newReader(), d, r.order)
	r.weigh(x, r.order)
	r.fillTargets(y, r.order, r.target.Log)
}

func fitted(t *testing.T, table Table, o Options, held ...bool) (*Model, *Report) {
	t.Helper()
	m, r, err := Fit(context.Background(), Input{Table: table, HeldOut: held}, o)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

func chosenOf(r *Report) (c Candidate) {
	for _, c := range r.Candidates {
		if c.Chosen {
			return c
		}
	}
	return c
}

// eachRow calls f with the task and the prediction of every row, and whether the row is for training.
func eachRow(t *testing.T, m *Model, table *Data, held []bool,
	f func(task int, p Prediction, y float64, train bool)) {
	t.Helper()
	x := make([]float64, len(table.Features()))
	for i := range table.Rows() {
		p := check.OK(m.PredictError(table.Tasks()[table.Task(i)], table.X(x, i)))
		f(table.Task(i), p, table.Y(i), !held[i])
	}
}
