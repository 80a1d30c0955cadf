package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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
		"rows are held out": {moments(Input{Table: a, HeldOut: held}, Input{Table: b}),
			productsOf(a, func(i int) bool { return held[i] })},
		"a row was added": {moments(Input{Table: more}, Input{Table: b}), []float64{-1, -2.3, .9, -1.7}},
	} {
		got := floats.SubTo(make([]float64, 16), first, c.second)
		for i, want := range c.want {
			if i < 12 && math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s: number %d of the difference is %v, want %v", name, i, got[i], want)
			}
		}
	}
}

// movedRow reads the row that is added or left out between two trainings, or whose first number changes, from
// the difference of the sums of products of 1, two features and the target.
func movedRow(difference []float64) []float64 {
	whole, change := difference[0], difference[1]
	switch {
	case math.Abs(math.Abs(whole)-1) < 1e-3:
		return []float64{difference[1] / whole, difference[2] / whole, difference[3] / whole}
	case math.Abs(change) > 1e-3: // of the first number
		return []float64{(difference[5]/change - change) / 2, difference[6] / change, difference[7] / change}
	}
	return nil
}

// A member that trains twice reads a row of another owner that was added, left out or changed in between,
// whatever the rules: they are about one training. From the shared parts of the two models alone no row
// follows.
func TestRowsMoved(t *testing.T) {
	const rows = 4
	for name, o := range map[string]Options{"no rules": open, "default rules": {}, "strict rules": strictly} {
		o.CommonNoise = true
		own, read, byModels := drawn(83, "a", 2, 90, 90), map[string]int{}, 0
		train := func(victim *Data) ([]float64, *mat.Dense) {
			f, heard := listen(t, victim, own, o)
			check.FailIf(t, len(f.baselines) == 0, "%s: the training has ended", name)
			m, _, err := Together(t.Context(), []Input{{Table: victim}, {Table: own}}, network("path", 2), o)
			check.Done(err)
			return rawMoments(f, heard, own), m.sharedProducts()
		}
		before, sharedBefore := train(drawn(81, "v", 2, 90, 90))
		r := rand.New(rand.NewPCG(82, 1))
		for range rows {
			for _, kind := range []string{"added", "left out", "changed"} {
				victim, at := drawn(81, "v", 2, 90, 90), r.IntN(180)
				row := []float64{victim.Values[0][at], victim.Values[1][at], victim.Targets[at]}
				switch kind {
				case "added":
					row = []float64{grid(r, 2), grid(r, 2), grid(r, 2)}
					check.Done(victim.Append("v0", row[2], row[:2]...))
				case "left out":
					victim.Weighting = slices.Repeat([]float64{1}, victim.Rows())
					victim.Weighting[at] = 0
				case "changed":
					victim.Values[0][at] += 1.5
				}
				after, sharedAfter := train(victim)
				got := movedRow(floats.SubTo(make([]float64, len(after)), after, before))
				if got != nil && floats.Distance(got, row, math.Inf(1)) < .05 {
					read[kind]++
				}
				var d mat.Dense
				d.Sub(sharedAfter, sharedBefore)
				if math.Abs(d.At(0, 1)/d.At(0, 0)-row[0])+math.Abs(d.At(0, 2)/d.At(0, 0)-row[1]) < .05 {
					byModels++
				}
			}
		}
		t.Logf("%s: of %d rows each %v are read, and %d from the shared parts of models", name, rows, read, byModels)
		for _, kind := range []string{"added", "left out", "changed"} {
			check.FailIf(t, read[kind] < rows, "%s: %d of %d rows that were %s are read: docs/privacy.md says all",
				name, read[kind], rows, kind)
		}
		check.FailIf(t, byModels > 0, "%s: %d rows are read from the shared parts of models", name, byModels)
	}
}

// sharedProducts returns what the covariance of the mean is of X'V^-1 X times the noise, in the units of the
// table, without curves.
func (m *Model) sharedProducts() *mat.Dense {
	p, w := &m.p, len(m.p.Mean)
	full := make([]float64, w*w)
	dense.Unpack(full, w, p.MeanCovariance)
	dense.Mirror(w, full)
	linear := 1 + len(p.Design.Center)
	a, to := mat.NewDense(w, w, full), mat.NewDense(linear, linear, nil)
	check.Done(a.Inverse(a))
	to.Set(0, 0, 1)
	for j := 1; j < linear; j++ { // of 1 and a feature as they are
		to.Set(j, 0, -p.Design.Center[j-1]/p.Design.Scale[j-1])
		to.Set(j, j, 1/p.Design.Scale[j-1])
	}
	var out mat.Dense
	out.Mul(a.Slice(0, linear, 0, linear), to)
	out.Mul(to.T(), &out)
	out.Scale(p.Prior.Noise.Variance, &out)
	return &out
}
