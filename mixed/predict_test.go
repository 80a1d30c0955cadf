package mixed

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// The values of the curve are those of SciPy's CubicSpline with bc_type="natural".
func TestDesignApply(t *testing.T) {
	d := Design{
		Fill: []float64{.2, 5, 1}, Center: []float64{1, 3, 8}, Scale: []float64{2, .5, 0},
		Curves: []Curve{newCurve(0, []float64{-2, -.5, 1, 4}, []float64{1, -2, .5, 3, 0, 1, 0, -1})},
	}
	if d.Width() != 6 {
		t.Fatalf("width is %d, want 6", d.Width())
	}
	for _, c := range []struct {
		name       string
		x, u, v, w float64 // feature, its column, and the two of the curve
	}{
		{"before the first knot", -3, -2, 1, 0},
		{"first knot", -2, -1.5, 1, 0},
		{"first piece", -1.1, -1.05, -1.37182608695652, 0.808695652173913},
		{"inner knot", -.5, -.75, -2, 1},
		{"second piece", .2, -.4, -1.23498228663446, 0.677256038647343},
		{"last piece", 3.3, 1.15, 2.81955555555556, -0.920148148148148},
		{"after the last knot", 9, 4, 3, -1},
		{"missing", math.NaN(), -.4, -1.23498228663446, 0.677256038647343},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := slices.Repeat([]float64{9}, 6)
			d.Apply(got, []float64{c.x, 4, 2})
			for j, want := range []float64{1, c.u, 2, 0, c.v, c.w} {
				near(t, "column", got[j], want)
			}
		})
	}
	var kinds []ColumnKind
	for _, c := range d.Columns() {
		kinds = append(kinds, c.Kind)
	}
	check.FailIf(t,
		!slices.Equal(kinds,
			[]ColumnKind{ConstantColumn, LinearColumn, LinearColumn, LinearColumn, CurveColumn, CurveColumn}),
		"kinds are %v", kinds)
}

// 97.5 % quantiles of the normal distribution, and of Student's t over it.
const normal, t2, t3, t4 = 1.959963984540054, 4.302652729911275 / normal, 3.182446305284263 / normal,
	2.7764451051977987 / normal
const t5, t10 = 2.570581835636314 / normal, 2.228138851964939 / normal

// knownLevel and unseenLevel are rows with a level that the model has, and with another one.
var (
	knownLevel  = []float64{44, 2.2, 0, 1, 0, 7}
	unseenLevel = []float64{44, 2.2, 0, 0, 0, 7}
)

// predictCases are the cases of TestPredict.
var predictCases = []struct {
	name   string
	change func(p *Parameters)
	task   string
	at     int // of its coefficients; -1 for those of unseen tasks
	x      []float64
	wider  float64 // of deviations
	noise  float64
}{
	{"known", func(*Parameters) {}, "e", 2, knownLevel, 1, .3 * square(t4)},
	{"unseen", func(*Parameters) {}, "new", -1, knownLevel, t3, .3 * square(t4)},
	{"without rows", func(p *Parameters) { p.Tasks.Samples[1] = 0 }, "s", -1, knownLevel, t3, .3 * square(t4)},
	{"no covariances", func(p *Parameters) { p.Tasks.Covariances = nil }, "s", 1, knownLevel, t3, .3 * square(t4)},
	{"unseen level", func(*Parameters) {}, "n", 0, unseenLevel, 1, .3 * square(t4)},
	{"exact", func(p *Parameters) { p.Prior.Freedom, p.Prior.Noise.Freedom = 0, 0 }, "new", -1, knownLevel, 1, .3},
	{"noise of a task", byTask, "s", 1, knownLevel, 1, .2 * square(t10)},
	{"noise of an unseen task", byTask, "new", -1, knownLevel, t3, .3 * square(t5)},
}

// Predictions and their errors are those of dense matrices: with and without the logarithm, for known and
// unseen tasks and levels, with one noise and with noise by task.
func TestPredict(t *testing.T) {
	for _, c := range predictCases {
		for _, log := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, logarithm %v", c.name, log), func(t *testing.T) {
				p := synthetic()
				p.Prior.Freedom, p.Prior.Noise.Freedom = 3, 4
				if c.change(&p); log {
					p.Target = Target{Log: true, Center: 1, Scale: .2}
				}
				theta, cov := p.Mean, spread(&p.Prior)
				cov.Scale(c.wider*c.wider, cov)
				cov.Add(cov, unpack(p.MeanCovariance, 9))
				if c.at >= 0 {
					theta = p.Tasks.Theta[9*c.at:][:9]
				}
				if c.wider == 1 && c.at >= 0 {
					cov = mat.DenseCopyOf(unpack(p.Tasks.Covariances[c.at].Packed, 9))
				}
				z := mat.NewVecDense(9, nil)
				p.Design.Apply(z.RawVector().Data, c.x)
				if &c.x[0] == &unseenLevel[0] {
					clear(z.RawVector().Data[3:6])
				}
				y, v := p.Target.Center+p.Target.Scale*mat.Dot(mat.NewVecDense(9, theta), z), mat.Inner(z, cov, z)
				// The differences of known levels from their mean.
				for j := 3; j <= 5 && &c.x[0] == &unseenLevel[0]; j++ {
					a := mat.NewVecDense(9, []float64{0, 0, 0, -.5 / .5, -.3 / .45, -.2 / .4, 0, 0, 0})
					a.SetVec(j, a.AtVec(j)+1/p.Design.Scale[j-1])
					v += (square(mat.Dot(a, mat.NewVecDense(9, theta))) + mat.Inner(a, cov, a)) / 2 * square(t2)
				}
				m := check.OK(New(p))
				got, err := m.PredictError(c.task, c.x)
				if isKnown := c.at >= 0 && &c.x[0] == &knownLevel[0]; err != nil || got.Known != isKnown {
					t.Fatalf("known is %v, the error %v", got.Known, err)
				}
				nearErrors(t, &p.Target, got, y, v, c.noise)
				if value, isKnown, err := m.Predict(c.task, c.x); value != got.Value || isKnown != got.Known ||
					err != nil {
					t.Errorf("Predict returns %v, %v, %v: want %v", value, isKnown, err, got.Value)
				}
			})
		}
	}
}

// nearErrors compares a prediction with its value, or the value's logarithm, and variances without and with
// noise.
func nearErrors(t *testing.T, target *Target, got Prediction, y, v, noise float64) {
	t.Helper()
	near(t, "value", got.Value, target.Restore((y-target.Center)/target.Scale))
	for i, e := range []float64{got.StandardError, got.SampleError} {
		if s := target.Scale * math.Sqrt(v+float64(i)*noise); target.Log {
			near(t, "probability", lognormal(got.Value, s, e), .95)
		} else {
			near(t, "standard error", e, s)
		}
	}
	s := target.Scale * math.Sqrt(v+noise)
	low, high := got.Value-normal*s, got.Value+normal*s
	if target.Log {
		low, high = got.Value*math.Exp(-normal*s), got.Value*math.Exp(normal*s)
	}
	near(t, "low end", got.Low, low)
	near(t, "high end", got.High, high)
}

// The relative error of a lognormal variable holds 95 % of it, whether its spread is small or large.
func TestRelativeError(t *testing.T) {
	for s := 1e-6; s < 3; s *= 1.07 {
		far := 1.959963984540054 * relativeError(s)
		below := 0.0
		if far < 1 {
			below = distuv.UnitNormal.CDF(math.Log1p(-far) / s)
		}
		if p := distuv.UnitNormal.CDF(math.Log1p(far)/s) - below; math.Abs(p-.95) > 1e-9 {
			t.Errorf("spread %v: within 1.96 times %v with the probability %v", s, relativeError(s), p)
		}
	}
	check.FailIf(t, relativeError(0) != 0, "the error without a spread is %v", relativeError(0))
}

// Goroutines that predict with one model get the same errors, each time.
func TestPredictErrorConcurrently(t *testing.T) {
	m := check.OK(New(synthetic()))
	x := []float64{41, 2.2, 0, 1, 0, 7}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, task := range append(m.Tasks(), "another", m.Tasks()[0]) {
				want := check.OK(check.OK(New(synthetic())).PredictError(task, x))
				if got, err := m.PredictError(task, x); err != nil || got != want {
					t.Errorf("task %q: %+v, want %+v (%v)", task, got, want, err)
				}
			}
		})
	}
	group.Wait()
}

// lognormal returns the probability that y exp(s Z) is within 1.96 e of y, from a sum over the density.
func lognormal(y, s, e float64) (sum float64) {
	const n = 100000
	for i := range n {
		z := -10 + 20*(float64(i)+.5)/n
		if math.Abs(y*math.Exp(s*z)-y) <= normal*e {
			sum += distuv.UnitNormal.Prob(z) * 20 / n
		}
	}
	return math.Round(sum*1e4) / 1e4
}

// Rounding may leave a covariance with a negative variance along a row.
func TestNegativeVariance(t *testing.T) {
	p := synthetic()
	p.Tasks.Covariances[0].Packed = append([]float64{-1e-9}, make([]float64, 44)...)
	p.Tasks.Covariances[0].Packed[9] = .01
	got, err := check.OK(New(p)).PredictError("n", []float64{41, 2.2, 0, 1, 0, 7})
	near(t, "error of a sample", got.SampleError, 3*math.Sqrt(.3))
	check.FailIf(t, err != nil || got.StandardError != 0, "standard error %v (%v): want 0", got.StandardError, err)
}

// A zero Model has no predictions, no effects and no file.
func TestZeroModel(t *testing.T) {
	var m Model
	_, _, err := m.Predict("n", nil)
	check.Error(t, err, "the model is empty")
	_, err = m.PredictError("n", nil)
	check.Error(t, err, "the model is empty")
	_, err = m.Adapt(t.Context(), &list{tasks: []string{"n"}, task: []int{0}, x: [][]float64{{}}, y: []float64{1}})
	check.Error(t, err, "the model is empty")
	check.Error(t, m.Save(&bytes.Buffer{}), "the model is empty")
	check.FailIf(t, m.Effects() != nil || m.Knows("n") || len(m.Tasks()) != 0, "a zero model knows something")
	check.Error(t, check.OK(New(synthetic())).Save(nil), "need a writer")
	_, err = Load(nil, 0)
	check.Error(t, err, "need a reader")
}

func TestPredictRefuses(t *testing.T) {
	m := check.OK(New(synthetic()))
	for _, c := range []struct {
		name, want string
		x          []float64
	}{
		{"length", "the row has 1 features, the model 6", []float64{1}},
		{"infinite", `feature "dose" is -Inf`, []float64{1, math.Inf(-1), 1, 0, 0, 7}},
		{"overflow", "overflows", []float64{1, math.MaxFloat64, 1, 0, 0, 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := m.Predict("n", c.x)
			check.Error(t, err, c.want)
		})
	}
}

// The exponential of a far extrapolation is limited to 8 standard deviations of the logarithm.
func TestRestore(t *testing.T) {
	s := Target{Center: 1, Scale: .5, Log: true}
	near(t, "high", s.Restore(20), math.Exp(5))
	near(t, "low", s.Restore(-20), math.Exp(-3))
	near(t, "restored", s.Restore(s.Standardize(3)), 3)
}

func TestPredictAllocatesNothing(t *testing.T) {
	m := check.OK(New(reducedTask()))
	x := []float64{44, 2.2, 0, 1, 0, 7}
	for _, task := range []string{"n", "s"} { // one has a reduced covariance
		if n := check.Allocations(10, func() { m.Predict(task, x); m.PredictError(task, x) }); n != 0 {
			t.Errorf("predictions of task %q allocate %v times", task, n)
		}
	}
}
