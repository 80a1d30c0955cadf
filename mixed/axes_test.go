package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// mapsOfAxes returns maps for k orthonormal axes q, which have a length, of f features: toFull maps
// coefficients of a wide design, but for the distance, to coefficients of the features, and off projects off
// the constant and the axes.
func mapsOfAxes(q mat.Matrix, f, k int, length float64) (toFull, off *mat.Dense) {
	toFull = mat.NewDense(1+f, 1+k, nil)
	toFull.Set(0, 0, 1)
	off = mat.NewDense(1+f, 1+f, nil)
	for i := range f {
		off.Set(1+i, 1+i, 1)
		for a := range k {
			toFull.Set(1+i, 1+a, length*q.At(i, a))
			for j := range f {
				off.Set(1+i, 1+j, off.At(1+i, 1+j)-q.At(i, a)*q.At(j, a))
			}
		}
	}
	return toFull, off
}

// wideAndFull returns the parameters of one model in two designs of five features, a category of three levels
// among them: on two axes, and on the features themselves. Deviations and mean have the same variance along
// all directions off the axes.
func wideAndFull() (wide, full Parameters) {
	const f, k = 5, 2
	rng := rand.New(rand.NewPCG(11, 12))
	var span mat.QR
	drawn := mat.NewDense(f, k, nil)
	drawn.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, drawn)
	span.Factorize(drawn)
	var q mat.Dense
	span.QTo(&q)
	const length, sigma, tau = .6, .5, .8
	base := Parameters{
		Schema: Schema{Columns: []string{"a", "site", "b"},
			Categories: []Category{{Column: "site", Levels: []string{"u", "v", "w"}}}},
		Design: Design{Fill: []float64{1, 0, 0, 0, 2}, Center: []float64{1, .5, .3, .2, 2},
			Scale: []float64{2, .5, .4, .45, 3}},
		Target: Target{Center: 10, Scale: 3},
		Prior:  Prior{Freedom: 4, Noise: Noise{Variance: .3}},
		Tasks:  Tasks{Names: []string{"n", "s"}, Samples: []int{5, 6}},
	}
	wide, full = base, base
	for a := range k {
		for j := range f {
			wide.Design.Axes = append(wide.Design.Axes, length*q.At(j, a))
		}
	}
	toFull, off := mapsOfAxes(&q, f, k, length)
	vector := func() (short, long []float64) {
		v := mat.NewVecDense(1+k, []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()})
		var out mat.VecDense
		out.MulVec(toFull, v)
		return append(v.RawVector().Data, 0), out.RawVector().Data
	}
	// covariance returns a drawn covariance, with the given deviation of a standardised feature off the axes.
	covariance := func(deviation float64) (short, long []float64) {
		c := unpack(packedPositive(rng, 1+k, .3), 1+k)
		s, l := mat.NewDense(2+k, 2+k, nil), mat.NewDense(1+f, 1+f, nil)
		s.Slice(0, 1+k, 0, 1+k).(*mat.Dense).Copy(c)
		s.Set(1+k, 1+k, square(deviation/length))
		l.Product(toFull, c, toFull.T())
		var rest mat.Dense
		rest.Scale(square(deviation), off)
		l.Add(l, &rest)
		return pack(s), pack(l)
	}
	wide.Mean, full.Mean = vector()
	wide.MeanCovariance, full.MeanCovariance = covariance(tau)
	for range 2 {
		a, b := vector()
		wide.Tasks.Theta, full.Tasks.Theta = append(wide.Tasks.Theta, a...), append(full.Tasks.Theta, b...)
		a, b = covariance(math.Hypot(sigma, tau))
		wide.Tasks.Covariances = append(wide.Tasks.Covariances, Covariance{Packed: a})
		full.Tasks.Covariances = append(full.Tasks.Covariances, Covariance{Packed: b})
	}
	wide.Prior.Deviations = []float64{.7, sigma / length, sigma / length, sigma / length}
	full.Prior.Deviations = []float64{.7, sigma, sigma, sigma, sigma, sigma}
	return wide, full
}

// A design on axes is another form of the same model: predictions, their errors, effects and what it learns
// are those of the design on features, for known and unseen tasks and levels, and for rows off the span.
func TestAxes(t *testing.T) {
	wideP, fullP := wideAndFull()
	wide, full := check.OK(New(wideP)), check.OK(New(fullP))
	d := &wideP.Design
	inSpan := func(places ...float64) []float64 {
		standard, x := make([]float64, 5), make([]float64, 5)
		for k, v := range places {
			floats.AddScaled(standard, v, d.Axes[k*5:][:5])
		}
		for j, v := range standard {
			x[j] = d.Center[j] + d.Scale[j]*v
		}
		return x
	}
	off := [][]float64{{3, 1, 0, 0, 5}, {-2, 0, 0, 1, math.NaN()}, {0, 0, 1, 0, -4}, {2, 0, 0, 0, 1}}
	compare := func(wide, full *Model, rows ...[]float64) {
		t.Helper()
		for _, task := range []string{"n", "s", "new"} {
			for _, x := range rows {
				a, errA := wide.PredictError(task, x)
				b, errB := full.PredictError(task, x)
				check.FailIf(t, errA != nil || errB != nil || a.Known != b.Known, "%v %v, %v %v", a, errA, b, errB)
				near(t, "prediction", a.Value, b.Value)
				near(t, "standard error", a.StandardError, b.StandardError)
				near(t, "error of a sample", a.SampleError, b.SampleError)
			}
		}
	}
	compare(wide, full, append(off, inSpan(1, 2))...)
	// The rows to learn lie in the span, but for one: what it has off the axes is then noise of its own.
	rows := &list{features: wide.Features(), tasks: []string{"n", "new"}}
	for i, x := range [][]float64{inSpan(1, 2), inSpan(-3, 1), off[0], inSpan(0, -2), inSpan(2, 2)} {
		rows.task, rows.x, rows.y = append(rows.task, i%2), append(rows.x, x), append(rows.y, 8+float64(i))
	}
	compare(check.OK(wide.Adapt(t.Context(), rows)), check.OK(full.Adapt(t.Context(), rows)), inSpan(.5, 1),
		inSpan(-1, 3))
	a, b := wide.Effects(), full.Effects()
	for i := range b {
		near(t, "effect", a[i].Estimate, b[i].Estimate)
		near(t, "error of the effect", a[i].StandardError, b[i].StandardError)
		near(t, "deviation of the effect", a[i].Deviation, b[i].Deviation)
		check.FailIf(t, a[i].Term != b[i].Term || a[i].Kind != b[i].Kind, "effect %v, want %v", a[i], b[i])
	}
	loaded := check.OK(readBytes(bytesOf(t, wide)))
	check.FailIf(t, !slices.Equal(loaded.Parameters().Design.Axes, d.Axes), "the model that was loaded has other axes")
	compare(loaded, full, off...)
}

// In the span of the axes the distance is 0.
func TestDistance(t *testing.T) {
	p, _ := wideAndFull()
	d := &p.Design
	standard := make([]float64, 5)
	floats.AddScaled(standard, 3, d.Axes[:5])
	floats.AddScaled(standard, -2, d.Axes[5:])
	got := d.project(standard)
	near(t, "place", got[0], 3*.36)
	near(t, "place", got[1], -2*.36)
	check.FailIf(t, !(got[2] < 1e-7), "the distance is %v", got[2])
	check.FailIf(t, d.distance() != 3 || d.Width() != 4 || d.linear() != 3,
		"distance %d, width %d", d.distance(), d.Width())
}

func TestAxesRefused(t *testing.T) {
	for want, change := range map[string]func(d *Design){
		"1 to 5 axes of an entry per feature are required, without curves": func(d *Design) { d.Axes = d.Axes[1:] },
		"10 entries, beside 5 features, 1 curves": func(d *Design) {
			d.Curves = []Curve{newCurve(0, []float64{0, 1, 2, 3}, []float64{1, -1, -1, 1})}
		},
		`array "axes": entry 3 is NaN: it must be finite, at most 1e+30`: func(d *Design) { d.Axes[3] = math.NaN() },
		`array "axes": axis 1 has the length 1.1`: func(d *Design) {
			floats.Scale(2, d.Axes[5:])
		},
		`the first 0: all have one length`: func(d *Design) { clear(d.Axes) },
	} {
		p, _ := wideAndFull()
		change(&p.Design)
		_, err := New(p)
		check.Error(t, err, want)
	}
}

// A table whose training rows are within the limit of wide tables, but all rows are not, is refused before
// the fit of the training rows.
func TestWideRefitIsRefusedFirst(t *testing.T) {
	table := drawing{tasks: 10, rows: 110, features: mostColumns + 200, noise: 1}.table(t, 3)
	stages := map[string]bool{}
	o := Options{Refit: true, Progress: func(p Progress) { stages[p.Stage] = true }}
	_, _, err := Fit(t.Context(), Input{Table: table, HeldOut: holdOut(table)}, o)
	if err == nil || !strings.Contains(err.Error(), "1200 features") ||
		!strings.Contains(err.Error(), "1100 training rows") {
		t.Errorf("the error is %v", err)
	}
	check.FailIf(t, len(stages) > 1, "the fit went on to %v", stages)
}
