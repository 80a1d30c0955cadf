package fit

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/kernel"
)

// A holed is a table of two numbers and one of three levels, of which some are
// missing (NaN, or level -1).
type holed struct {
	task  []string
	x     [][2]float64
	level []int
	y     []float64
}

var holedFeatures = []string{"a", "b", "site=p", "site=q", "site=r"}

func newHoled(seed uint64, prefix string, tasks, rows int) *holed {
	r := rand.New(rand.NewPCG(seed, 1))
	h := &holed{}
	for k := range tasks {
		theta := [2]float64{1 + r.NormFloat64(), 2 + r.NormFloat64()}
		for range rows {
			x := [2]float64{3 + r.NormFloat64(), 20 + 10*r.NormFloat64()}
			level := r.IntN(3)
			h.y = append(h.y, x[0]*theta[0]+x[1]*theta[1]/10+float64(level)+r.NormFloat64())
			for j := range x {
				if r.IntN(6) == 0 {
					x[j] = math.NaN()
				}
			}
			if r.IntN(6) == 0 {
				level = -1
			}
			h.task = append(h.task, fmt.Sprint(prefix, k))
			h.x = append(h.x, x)
			h.level = append(h.level, level)
		}
	}
	return h
}

// table returns the table as it is read from text, holes and all. The schema is that
// of a model, or nil.
func (h *holed) table(t *testing.T, nodes int, schema *schema.Schema) *dataset.Table {
	t.Helper()
	var b strings.Builder
	b.WriteString("task,a,b,site,y\n")
	cell := func(v float64) string {
		if math.IsNaN(v) {
			return "NA"
		}
		return fmt.Sprint(v)
	}
	for i, x := range h.x {
		fmt.Fprintf(&b, "%s,%s,%s,%s,%v\n", h.task[i], cell(x[0]), cell(x[1]), []string{"", "p", "q", "r"}[h.level[i]+1], h.y[i])
	}
	o := dataset.TableOptions{Task: "task", Target: "y", Schema: schema, Missing: dataset.MissingKeep}
	if schema == nil {
		o.Categorical = []string{"site"}
	}
	tab, err := dataset.ReadCSV(strings.NewReader(b.String()), o)
	if err != nil {
		t.Fatal(err)
	}
	return assigned(t, tab, nodes)
}

// means returns those of the features over the chosen rows that have a value.
func (h *holed) means(rows []bool) (mean [5]float64) {
	var count [5]float64
	for i := range h.x {
		if rows[i] {
			for j, v := range h.row(i) {
				if !math.IsNaN(v) {
					mean[j] += v
					count[j]++
				}
			}
		}
	}
	for j := range mean {
		mean[j] /= count[j]
	}
	return mean
}

func (h *holed) row(i int) [5]float64 {
	x := [5]float64{h.x[i][0], h.x[i][1]}
	for l := range 3 {
		switch h.level[i] {
		case -1:
			x[2+l] = math.NaN()
		case l:
			x[2+l] = 1
		}
	}
	return x
}

// filled returns a table without holes: the mean takes their place.
func (h *holed) filled(t *testing.T, nodes int, mean [5]float64) *dataset.Table {
	t.Helper()
	tab, err := dataset.NewTable(holedFeatures, true, kernel.Float64)
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.x {
		x := h.row(i)
		for j, v := range x {
			if math.IsNaN(v) {
				x[j] = mean[j]
			}
		}
		if err := tab.Append(h.task[i], "", x[:], h.y[i]); err != nil {
			t.Fatal(err)
		}
	}
	return assigned(t, tab, nodes)
}

func assigned(t *testing.T, tab *dataset.Table, nodes int) *dataset.Table {
	t.Helper()
	if err := tab.AssignBlocks(nodes); err != nil {
		t.Fatal(err)
	}
	return tab
}

// Fit, predictions, adaptation and learning curve must be those of a table in which
// somebody has put the means of the training rows before.
func TestMissingAreMeansOfTrainingRows(t *testing.T) {
	h, new := newHoled(1, "", 16, 20), newHoled(2, "new", 4, 9)
	tab := h.table(t, 1, nil)
	c := testConfig(t, 1, 2)
	c.Rank, c.Options.Iterations = -1, 30
	ridge := 3.0 // a climb would end a little elsewhere
	c.Intercept, c.Ridge, c.MeanRidge = &ridge, &ridge, &ridge
	var err error
	if c.Train, err = tab.Split(dataset.Split{TestFraction: 0.25, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	mean := h.means(c.Train)
	m, r := fit(t, tab, c)
	want, wantReport := fit(t, h.filled(t, 1, mean), c)
	for _, task := range tab.Tasks() {
		theta, bias, _ := m.Coefficients(task)
		wantTheta, wantBias, _ := want.Coefficients(task)
		checkClose(t, "coefficients", append([]float64{bias}, theta...), append([]float64{wantBias}, wantTheta...))
	}
	checkClose(t, "mean of training rows", m.Parameters().Scaling.Fill, mean[:])
	for i, s := range r.Scores {
		w := wantReport.Scores[i]
		checkClose(t, s.Method, []float64{s.Ridge, s.Train.RMSE, s.Test.RMSE, s.Test.MAE}, []float64{w.Ridge, w.Train.RMSE, w.Test.RMSE, w.Test.MAE})
	}
	checkSamePredictions(t, m, tab, want, h.filled(t, 1, mean))

	holes, full := new.table(t, 1, schemaOf(m)), new.filled(t, 1, mean)
	a, err := m.Adapt(holes)
	if err != nil {
		t.Fatal(err)
	}
	b, err := want.Adapt(full)
	if err != nil {
		t.Fatal(err)
	}
	checkSamePredictions(t, a, holes, b, full)
	got, _, err := LearningCurve(m, holes, CurveConfig{Samples: []int{3}, Repeats: 2})
	if err != nil {
		t.Fatal(err)
	}
	curve, _, err := LearningCurve(want, full, CurveConfig{Samples: []int{3}, Repeats: 2})
	if err != nil {
		t.Fatal(err)
	}
	checkClose(t, "curve", []float64{got[0].Ours.RMSE, got[0].Single.RMSE}, []float64{curve[0].Ours.RMSE, curve[0].Single.RMSE})
}

// checkSamePredictions compares the predictions of two models, also for rows that
// FillMissing completes.
func checkSamePredictions(t *testing.T, m *model.Model, holes *dataset.Table, want *model.Model, full *dataset.Table) {
	t.Helper()
	y, err := m.PredictTable(holes)
	if err != nil {
		t.Fatal(err)
	}
	w, err := want.PredictTable(full)
	if err != nil {
		t.Fatal(err)
	}
	checkClose(t, "predictions", y, w)
	x, n := make([]float64, 5), 0
	for i := range y {
		task := holes.Tasks()[holes.Task(i)]
		n += m.FillMissing(holes.X(x, i))
		if v, err := m.Predict(task, x); err != nil || v != y[i] {
			t.Fatalf("row %d: %v, %v, want %v", i, v, err, y[i])
		}
	}
	if n == 0 {
		t.Error("nothing was filled")
	}
}

// The means must survive in a file.
func TestMissingSaveLoad(t *testing.T) {
	tab := newHoled(1, "", 8, 10).table(t, 2, nil)
	c := testConfig(t, 2, 1)
	m, _ := fit(t, tab, c)
	data := fileOf(t, m)
	var l model.Model
	if err := l.UnmarshalBinary(data); err != nil || !bytes.Equal(fileOf(t, &l), data) {
		t.Errorf("the model that was read is not the one that was written: %v", err)
	}
	want, _ := m.PredictTable(tab)
	if got, err := l.PredictTable(tab); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("predictions differ: %v", err)
	}
}

// A feature needs a value in a training row, of any node.
func TestMissingAlmostEverywhere(t *testing.T) {
	h := newHoled(1, "", 4, 30)
	for i := range h.x {
		if i != 7 && i < 60 {
			h.x[i][0] = math.NaN()
		}
	}
	c := testConfig(t, 2, 1)
	fit(t, h.table(t, 2, nil), c)
	c.Train = make([]bool, len(h.x))
	for i := range 7 {
		c.Train[i], c.Train[119-i] = true, true
		h.x[119-i][0] = math.NaN()
	}
	_, _, err := Fit(t.Context(), h.table(t, 2, nil), c)
	check(t, err, `column "a" has no value in the training rows`)
}
