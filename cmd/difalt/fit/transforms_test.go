package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// bentTable draws tasks 0, 1, ... of some nodes, with the features "wave" (between -1 and 1), "wild" (most near 0, some far off), "size" (positive and
// skewed) and "line", with what effect says and noise of deviation 0.3; and "half", which is 0 or 1.
func bentTable(hosted []int, seed uint64, tasks, rows int, effect func(wave, wild, size, line, level float64) float64) (*dataset.Table, error) {
	tab, err := dataset.NewTable([]string{"wave", "wild", "size", "line", "half"}, true, kernel.Float64)
	if err != nil {
		return nil, err
	}
	for _, g := range hosted {
		for k := range tasks {
			r := rand.New(rand.NewPCG(seed, uint64(g*1000+k)))
			level := r.NormFloat64()
			for range rows {
				wave, wild, size, line := 2*r.Float64()-1, r.NormFloat64()/math.Sqrt(0.02+r.Float64()), math.Exp(1.5*r.NormFloat64()), r.NormFloat64()
				y := effect(wave, wild, size, line, level) + 0.3*r.NormFloat64()
				if err := tab.Append(fmt.Sprint("t", g, "-", k), fmt.Sprint(g), []float64{wave, wild, size, line, float64(r.IntN(2))}, y); err != nil {
					return nil, err
				}
			}
		}
	}
	return tab, nil
}

// Of a single task nothing tells its own slopes from those that tasks share: the model has one regression, its curves and its effects.
func TestSingleTask(t *testing.T) {
	tab, err := bentTable([]int{0}, 1, 1, 300, func(wave, _, _, line, _ float64) float64 { return math.Exp(2*wave) + 2*line })
	if err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, 1, 0)
	c.Owners = false
	m, r := fit(t, tab, c)
	if len(m.Parameters().Scaling.Transforms) != 1 || !math.IsInf(r.Chosen.Ridge, 1) || !strings.Contains(r.Verdict.Text, "There is a single task") {
		t.Errorf("%d transforms, %+v, %s", len(m.Parameters().Scaling.Transforms), r.Chosen, r.Verdict.Text)
	}
	for _, e := range m.Effects() {
		if e.Kind == model.Fixed && e.Term == "line" && !(e.Low < 2 && 2 < e.High && e.High-e.Low < 0.2) {
			t.Errorf("%+v", e)
		}
	}
}

// bentFit fits such a table of three nodes of one owner, and returns the error on fresh rows of the same tasks.
func bentFit(t *testing.T, effect func(wave, wild, size, line, level float64) float64, change func(c *Config)) (*model.Model, *Report, float64) {
	t.Helper()
	tab, err := bentTable([]int{0, 1, 2}, 1, 6, 40, effect)
	if err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, 3, 0)
	c.Owners, c.Train = false, make([]bool, tab.Rows())
	for i := range c.Train {
		c.Train[i] = i%4 > 0
	}
	if change != nil {
		change(&c)
	}
	m, r := fit(t, tab, c)
	return m, r, r.Scores[0].Test.RMSE
}

// kinds are the transforms of a model by the names of its features.
func kinds(m *model.Model) string {
	var list []string
	for _, c := range m.Parameters().Scaling.Transforms {
		list = append(list, m.Features()[c.Feature]+" "+c.Kind)
	}
	return strings.Join(list, ", ")
}

// The evidence finds what an effect is like, on the column that has it alone, and the model then predicts nearly as well as noise allows, where
// one of straight lines does not. Where effects are straight nothing changes, not a bit.
func TestTransformsAreChosen(t *testing.T) {
	for name, c := range map[string]struct {
		effect func(wave, wild, size, line, level float64) float64
		want   string
	}{
		"curve":     {func(wave, wild, _, line, level float64) float64 { return math.Sin(3*wave) + 0.2*wild + line + level }, "wave curve"},
		"growth":    {func(wave, _, _, line, level float64) float64 { return level*math.Exp(2*wave) + line }, "wave curve"},
		"clipped":   {func(_, wild, _, line, level float64) float64 { return min(max(wild, -4.3), 4.3) + line + level }, "wild clipped"},
		"logarithm": {func(_, _, size, line, level float64) float64 { return math.Log(size) + line + level }, "size logarithm"},
		"dose":      {func(_, _, size, line, level float64) float64 { return 2/(1+math.Pow(size, -3)) + line + level }, "size curve of the logarithm"},
		"straight":  {func(wave, wild, size, line, level float64) float64 { return wave + wild + size + line + level }, ""},
		"nothing":   {func(_, _, _, _, level float64) float64 { return level }, ""},
	} {
		m, r, rmse := bentFit(t, c.effect, nil)
		if got := kinds(m); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if rmse > 0.36 {
			t.Errorf("%s: an error of %v with noise of 0.3", name, rmse)
		}
		_, _, straight := bentFit(t, c.effect, func(c *Config) { c.Curves = []string{} })
		if c.want == "" && straight != rmse || c.want != "" && straight < 1.1*rmse {
			t.Errorf("%s: an error of %v, and of %v without transforms", name, rmse, straight)
		}
		if feature, _, _ := strings.Cut(c.want, " "); c.want != "" && !slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, fmt.Sprintf("%q", feature)) }) {
			t.Errorf("%s: no note in %q names the column", name, r.Notes)
		}
	}
}

// A curve that is asked for is made, also of a straight effect, of which the error stays; between owners too, where nothing is looked for without.
func TestCurvesAreTaken(t *testing.T) {
	straight := func(wave, _, _, line, level float64) float64 { return wave + line + level }
	sine := func(wave, _, _, line, level float64) float64 { return math.Sin(3*wave) + line + level }
	for _, owners := range []bool{false, true} {
		for name, effect := range map[string]func(wave, wild, size, line, level float64) float64{"straight": straight, "sine": sine} {
			m, _, rmse := bentFit(t, effect, func(c *Config) { c.Curves, c.Owners = []string{"wave"}, owners })
			if kinds(m) != "wave curve" || rmse > 0.36 {
				t.Errorf("%s, owners %v: %q, error %v", name, owners, kinds(m), rmse)
			}
		}
	}
	m, r, _ := bentFit(t, sine, func(c *Config) { c.Owners = true })
	if kinds(m) != "" || !slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, "--curve COLUMN") }) {
		t.Errorf("owners: %q, notes %q", kinds(m), r.Notes)
	}
	for want, columns := range map[string][]string{
		`column "w" cannot be a curve: the features are "wave"`:         {"wave", "w"},
		`column "half" cannot be a curve: it has fewer than three diff`: {"half"},
	} {
		tab, err := bentTable([]int{0, 1, 2}, 1, 4, 12, straight)
		if err != nil {
			t.Fatal(err)
		}
		c := testConfig(t, 3, 0)
		c.Curves = columns
		_, _, err = Fit(t.Context(), tab, c)
		check(t, err, want)
		c.Plain, c.Rank = true, 1
		_, _, err = Fit(t.Context(), tab, c)
		check(t, err, "neither a plain nor a private one")
	}
}

// Transforms, of the target too, are the same bits in one process, in two, and with one process a node, with any workers: those the evidence chooses, and those of owners.
func TestTransformsApart(t *testing.T) {
	sine := func(wave, wild, size, line, level float64) float64 {
		return math.Sin(3*wave) + min(max(wild, -2), 2) + math.Log(size) + line*level
	}
	amount := func(wave, wild, size, line, level float64) float64 {
		return 200 * math.Exp(math.Sin(3*wave)+0.5*line+0.8*level)
	}
	for name, x := range map[string]struct {
		effect func(wave, wild, size, line, level float64) float64
		change func(c *Config)
		least  int // transforms
		log    bool
	}{
		"chosen":              {sine, func(c *Config) { c.Owners = false }, 2, false},
		"taken":               {sine, func(c *Config) { c.Curves = []string{"size", "wave"} }, 2, false},
		"logarithm":           {amount, func(c *Config) { c.Owners = false }, 1, true},
		"logarithm of owners": {amount, func(c *Config) { c.LogTarget = &yes }, 0, true},
	} {
		w := weights(t, "ring", 3, topology.Metropolis)
		train := func(net *consensus.Network) (*outcome, error) {
			tab, err := bentTable(net.Hosted(), 3, 4, 20, x.effect)
			if err != nil {
				return nil, err
			}
			c := testConfig(t, 3, 1)
			c.Network, c.Options.Iterations = net, 20
			c.Options.Agreement.RoundByRound = true
			c.Options.Workers = 1 + net.Hosted()[0]
			x.change(&c)
			m, r, err := Fit(t.Context(), tab, c)
			return &outcome{m, r}, err
		}
		whole, err := train(network(t, w))
		if err != nil {
			t.Fatal(name, err)
		}
		if s := whole.m.Parameters().Scaling; len(s.Transforms) < x.least || s.LogTarget != x.log {
			t.Errorf("%s: %q, logarithm %v", name, kinds(whole.m), s.LogTarget)
		}
		for _, groups := range groupings(3) {
			parts, failed := apart(t, w, groups, train)
			for i, part := range parts {
				if failed[i] != nil {
					t.Fatalf("%s, nodes %d: %v", name, groups[i], failed[i])
				}
				comparePart(t, fmt.Sprintf("%s, nodes %d", name, groups[i]), groups[i], part, whole)
			}
		}
	}
}

// bentDesign is a design of one node with nothing transformed.
func bentDesign(t *testing.T, rows int, effect func(wave, wild, size, line, level float64) float64) *design {
	t.Helper()
	tab, err := bentTable([]int{0}, 5, 5, rows, effect)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := tab.Layout()
	if err != nil {
		t.Fatal(err)
	}
	d := &design{Group: nodes.Alone(), t: tab, layout: layout}
	d.trainOnAll()
	d.groupRows(nil)
	if err := d.scaleBy(t.Context(), &Config{}); err != nil {
		t.Fatal(err)
	}
	return d
}

// The splines of a curve have mean 0 and deviation 1 over the rows, are not correlated with one another, nor with the feature, nor in their roughness, and
// each is rougher than that before.
func TestSplinesAreUncorrelated(t *testing.T) {
	d := bentDesign(t, 200, func(_, _, _, _, level float64) float64 { return level })
	list, err := d.alternatives(t.Context(), []int{1, 2}, model.Curved)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for _, a := range list {
		n := a.Width()
		sums, inputs, x := mat.NewSymDense(n, nil), make([]float64, n), make([]float64, 5)
		for i := range d.t.Rows() {
			d.t.X(x, i)
			a.Apply(inputs, x[a.Feature])
			inputs[0] = (inputs[0] - d.Center[a.Feature]) / d.Scale[a.Feature]
			sums.SymRankOne(sums, 1/float64(d.t.Rows()), mat.NewVecDense(n, inputs))
		}
		rough := a.Roughness()
		for i := range n {
			for j := i; j < n; j++ {
				want := 0.0
				if i == j {
					want = 1
				}
				if math.Abs(sums.At(i, j)-want) > 1e-4 {
					t.Errorf("feature %d: the mean product of inputs %d and %d is %v, want %v", a.Feature, i, j, sums.At(i, j), want)
				}
			}
		}
		for i := range n - 1 {
			for j := range i {
				if r := rough.At(i, j) / math.Sqrt(rough.At(i, i)*rough.At(j, j)); math.Abs(r) > 1e-3 {
					t.Errorf("feature %d: splines %d and %d share roughness: %v", a.Feature, i, j, r)
				}
			}
			if got, want := a.scale[i+1], math.Sqrt(rough.At(i, i)/rough.At(0, 0)); math.Abs(got/want-1) > 1e-3 || i > 0 && got < a.scale[i] {
				t.Errorf("feature %d: spline %d is divided by %v, want %v", a.Feature, i, got, want)
			}
		}
	}
}

// What an alternative promises is what the evidence gains at the same strengths when its inputs are added with a prior of their own for the mean: by
// dense covariances of all rows.
func TestScreenIsDense(t *testing.T) {
	d := bentDesign(t, 12, func(wave, _, _, line, level float64) float64 { return math.Sin(3*wave) + line + level })
	list, err := d.alternatives(t.Context(), []int{0, 1, 2}, model.Clipped, model.Curved)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.sufficientRows(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	p := &mixedmodel.Prior{W: rows.Width, Intercept: 0.7, Spread: 0.05, MeanVariance: 0.4}
	pt, err := rows.Evaluate(t.Context(), &evidence.Point{Prior: p})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.screen(t.Context(), pt, list)
	if err != nil {
		t.Fatal(err)
	}
	n := d.t.Rows()
	z, c, y := make([][]float64, n), make([][]float64, n), make([]float64, n)
	for a := range list {
		x := make([]float64, 5)
		for i := range n {
			z[i], c[i] = make([]float64, 6), make([]float64, len(list[a].scale))
			y[i] = d.row(z[i], i)
			list[a].inputs(c[i], d.t.X(x, i)[list[a].Feature])
		}
		// -2 log likelihood of targets with a flat prior of the constant, at the noise of the point.
		value := func(variance float64) float64 {
			v := mat.NewSymDense(n, nil)
			for i := range n {
				for j := i; j < n; j++ {
					dot, own, bend := 0.0, 0.0, 0.0
					for k := range 5 {
						dot += z[i][k] * z[j][k]
					}
					for k := range c[i] {
						bend += c[i][k] * c[j][k]
					}
					if d.t.Task(i) == d.t.Task(j) {
						own = p.Spread*dot + p.Intercept
					}
					if i == j {
						own++
					}
					v.SetSym(i, j, own+p.MeanVariance*dot+variance*bend+1e6)
				}
			}
			var chol mat.Cholesky
			if !chol.Factorize(v) {
				t.Fatal("no covariance")
			}
			var s mat.VecDense
			right := mat.NewVecDense(n, y)
			if err := chol.SolveVecTo(&s, right); err != nil {
				t.Fatal(err)
			}
			return mat.Dot(right, &s)/pt.Noise + chol.LogDet()
		}
		want := 0.0
		for _, v := range promisedVariances {
			want = max(want, value(0)-value(v*p.MeanVariance))
		}
		if math.Abs(got[a].gain-want) > 1e-4*(1+want) {
			t.Errorf("%s of feature %d promises %v, want %v", list[a].Kind, list[a].Feature, got[a].gain, want)
		}
	}
}

// A column counts at most as far beyond its training rows as 96 % of these are apart, whatever takes its place: there predictions stay where they are.
// Between owners nothing counts as anything else.
func TestColumnsEnd(t *testing.T) {
	straight := func(wave, wild, size, line, level float64) float64 { return wave + wild + size + line*level }
	m, _, _ := bentFit(t, straight, nil)
	s := m.Parameters().Scaling
	tab, err := bentTable([]int{0, 1, 2}, 1, 6, 40, straight)
	if err != nil {
		t.Fatal(err)
	}
	for j := range 4 {
		var values []float64
		for i := range tab.Rows() {
			if i%4 > 0 {
				values = append(values, tab.X(make([]float64, 5), i)[j])
			}
		}
		slices.Sort(values)
		n := len(values)
		width := values[n*98/100] - values[n*2/100]
		if far := math.Abs(s.Least[j]-(values[0]-width)) / width; far > 0.1 {
			t.Errorf("column %d counts from %v, want %v", j, s.Least[j], values[0]-width)
		}
		if far := math.Abs(s.Most[j]-(values[n-1]+width)) / width; far > 0.1 {
			t.Errorf("column %d counts to %v, want %v", j, s.Most[j], values[n-1]+width)
		}
	}
	if s.Least[4] > -math.MaxFloat64 || s.Most[4] < math.MaxFloat64 {
		t.Error("a column of two values has an end")
	}
	at := []float64{0.2, 0.3, 1, 0.1, 1}
	for j := range 4 {
		x := slices.Clone(at)
		x[j] = s.Most[j]
		edge, _ := m.Predict("t0-0", x)
		x[j] = 1e9
		if y, err := m.Predict("t0-0", x); err != nil || y != edge || m.Beyond(x) != j {
			t.Errorf("column %d: %v far away, %v at its end; %v", j, y, edge, err)
		}
	}
	owners, _, _ := bentFit(t, straight, func(c *Config) { c.Owners = true })
	if owners.Parameters().Scaling.Least != nil {
		t.Error("owners have told where columns end")
	}
}
