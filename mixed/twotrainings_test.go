package mixed

import (
	"math"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
)

// rawMoments returns the sums of products of 1, the features and the target over the rows of others, as they
// are, by rows, from what a listener with a table has heard.
func rawMoments(f *fitter, heard []heardTotal, own *Data) []float64 {
	d, p := f.plain.design, f.plain.p
	g, n := make([]float64, p*p), p+1
	dense.Unpack(g, p, totalsOf(heard, "X'X")[0].others())
	dense.Mirror(p, g)
	m := f.baselines[0] // pooled ridge
	xy, row, read := append([]float64(nil), m.m.h...), make([]float64, p), f.rows.reader()
	floats.Scale(m.q.noise, xy)
	for i := range own.Rows() {
		d.Apply(row, read(i))
		floats.AddScaled(xy, -f.rows.standardized(i, false), row)
	}
	scale := append([]float64{1}, d.Scale...)
	center := append([]float64{0}, d.Center...)
	out := make([]float64, n*n)
	for i := range p {
		for j := range p {
			// Sums of (c + s z)(c' + s' z').
			v := scale[i] * scale[j] * g[i*p+j]
			if i > 0 {
				v += center[i] * scale[j] * g[j]
			}
			if j > 0 {
				v += center[j] * scale[i] * g[i]
			}
			if i > 0 && j > 0 {
				v += center[i] * center[j] * g[0]
			}
			out[i*n+j] = v
		}
		target := f.rows.target
		v := target.Scale*scale[i]*xy[i] + target.Center*scale[i]*g[i]
		if i > 0 {
			v += center[i] * (target.Scale*xy[0] + target.Center*g[0])
		}
		out[i*n+p] = v
	}
	return out
}

// Two trainings disclose the difference of their rows, whatever the rules: the part of an owner that has
// left, all held-out rows where a second training holds out none, and a row that was added, with its target.
func TestTwoTrainings(t *testing.T) {
	a, b, own := drawn(71, "v", 2, 90, 90), drawn(72, "w", 2, 60, 60), drawn(73, "a", 2, 90, 90)
	o := Options{NoCurves: true}
	moments := func(victims ...Input) []float64 {
		f, heard := listenAmong(t, victims, Input{Table: own}, o)
		check.FailIf(t, len(f.baselines) == 0, "the training has ended")
		return rawMoments(f, heard, own)
	}
	productsOf := func(d *Data, counts func(row int) bool) []float64 {
		out := make([]float64, 16)
		for i := range d.Rows() {
			if x := []float64{1, d.Values[0][i], d.Values[1][i], d.Targets[i]}; counts(i) {
				for j := range 3 {
					floats.AddScaled(out[4*j:][:4], x[j], x)
				}
			}
		}
		return out
	}
	held := make([]bool, a.Rows())
	for i := range held {
		held[i] = i%5 == 0
	}
	more := drawn(71, "v", 2, 90, 90)
	check.Done(more.Append("v0", 1.7, 2.3, -.9))
	first := moments(Input{Table: a}, Input{Table: b})
	for name, c := range map[string]struct {
		second []float64
		want   []float64
	}{
		"an owner has left": {moments(Input{Table: a}), productsOf(b, func(int) bool { return true })},
		"rows are held out": {moments(Input{Table: a, HeldOut: held}, Input{Table: b}), productsOf(a, func(i int) bool { return held[i] })},
		"a row was added":   {moments(Input{Table: more}, Input{Table: b}), []float64{-1, -2.3, .9, -1.7}},
	} {
		got := floats.SubTo(make([]float64, 16), first, c.second)
		for i, want := range c.want {
			if i < 12 && math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s: number %d of the difference is %v, want %v", name, i, got[i], want)
			}
		}
	}
}
