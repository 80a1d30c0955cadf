package evidence

import (
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// A Way is where a climb goes from a point: to the top that the evidence would have if all tasks were alike, and from the second step on to
// where that leads with what slopes at the points before say about how unlike tasks are (L-BFGS: Nocedal 1980; its first matrix is that of
// tasks that are alike).
type Way struct {
	from, to *Point
	x, g, d  []float64 // coordinates of from, the slope there, and how far it is to the top
	steps    []step    // the last ones, the oldest first
	r        []float64 // the way goes to x - r
	length   float64   // of the step along it
	cuts     int
	promise  float64 // of the way, by slopes at both ends of a step that has led down
	seen     []end   // the last ones, the oldest first
}

// An end is what a point says of the strengths: their roots, and the slopes by these.
type end struct{ x, g []float64 }

// see keeps the end of a step with these coordinates and slopes.
func (w *Way) see(loadings int, x, g []float64) {
	strengths := func(of []float64) []float64 { return of[loadings:][:3] }
	w.seen = append(w.seen, end{strengths(x), strengths(g)})[max(len(w.seen)+1-mostSeen, 0):]
}

// A step has differences between two points: of coordinates, of slopes, and of how far it is not to the top.
type step struct{ s, y, z []float64 }

// maxCuts is how often a step that leads down is cut; mostSteps and mostSeen are how many steps and ends are kept: of ends further back other
// coordinates were too different.
const maxCuts, mostSteps, mostSeen = 3, 6, 3

// Aim sets the way from a point toward the top if all tasks were alike.
func (w *Way) Aim(from, to *Point) {
	x, g := coordinates(from), from.partials()
	minus := func(a, b []float64) []float64 { return floats.SubTo(make([]float64, len(a)), a, b) }
	d := minus(coordinates(to), x)
	if w.x != nil {
		t := step{minus(x, w.x), minus(g, w.g), minus(w.d, d)}
		if floats.Dot(t.s, t.y) > from.rows.Slack() { // a dither hides smaller differences
			w.steps = append(w.steps, t)[max(len(w.steps)+1-mostSteps, 0):]
		}
	}
	length := 1.0
	if w.cuts > 0 {
		length = min(4*w.length, 1)
	}
	*w = Way{from: from, to: to, x: x, g: g, d: d, steps: w.steps, length: length, seen: w.seen}
	w.see(len(from.Loadings), x, g)
	if w.r = w.newton(); !(floats.Dot(g, w.r) > 0) {
		w.forget()
	}
}

// forget takes the way toward the top without what steps have said, which does not hold here. Nor need tasks be alike: it leaves out along what it
// leads down.
func (w *Way) forget() {
	w.steps = nil
	if w.r = w.newton(); floats.Dot(w.g, w.r) > 0 {
		return
	}
	for i, v := range w.r {
		if !(v*w.g[i] > 0) {
			w.r[i] = 0
		}
	}
}

// newton returns how far it is back from where slopes would be zero.
func (w *Way) newton() []float64 {
	q, r, part := slices.Clone(w.g), slices.Clone(w.d), make([]float64, len(w.steps))
	floats.Scale(-1, r)
	for i, t := range slices.Backward(w.steps) {
		part[i] = floats.Dot(t.s, q) / floats.Dot(t.s, t.y)
		floats.AddScaled(q, -part[i], t.y)
		floats.AddScaled(r, -part[i], t.z)
	}
	for i, t := range w.steps {
		floats.AddScaled(r, part[i]-floats.Dot(t.y, r)/floats.Dot(t.s, t.y), t.s)
	}
	return r
}

// Next returns the prior to evaluate next, and variances of its loadings.
func (w *Way) Next() *Point {
	x := slices.Clone(w.x)
	floats.AddScaled(x, -w.length, w.r)
	p := w.to.Prior.Clone()
	x = x[copy(p.Loadings, x):]
	own := strengthsOf(w.from.Prior)
	for k, v := range strengthsOf(p) {
		least := math.Sqrt(*v) / 8
		if len(w.steps) > 0 { // near zero there is no slope along a root
			least = max(least, math.Sqrt(*own[k])/8)
		}
		if root := max(w.within(k, math.Sqrt(*own[k]), x[k]), least); *v != *own[k] { // else it is given, or at an end of its range
			*v = limitStrength(root * root)
		}
	}
	x = x[len(own):]
	variances := slices.Clone(w.from.LoadingVariances)
	for a := range variances {
		variances[a] = limitStrength(math.Exp(x[a]))
	}
	if x = x[len(variances):]; slices.ContainsFunc(x, func(l float64) bool { return l != 0 }) {
		p.Slopes = make([]float64, len(x))
		for j, l := range x {
			p.Slopes[j] = limitStrength(math.Exp(l))
		}
	}
	return &Point{Prior: p, LoadingVariances: variances}
}

// within returns the root of a strength where a step ends that would lead from one to another: no further than half-way, in logarithms, to one from which
// the slope leads back.
func (w *Way) within(k int, from, to float64) float64 {
	for _, e := range w.seen {
		if x := e.x[k]; (x-from)*(to-x) >= 0 && (x-from)*e.g[k] > 0 {
			to = math.Sqrt(max(from, x/64) * max(x, from/64))
		}
	}
	return to
}

// Shorten makes a way that has led down to a point shorter: to where its slope would be zero, if that goes on as between both ends, or the
// value is a parabola's, and by half at least; after that has not helped, one without what steps have said. It reports whether to try again.
func (w *Way) Shorten(at *Point) bool {
	before, part := -floats.Dot(w.g, w.r), 0.5
	if !math.IsInf(at.Value, 0) {
		g := at.partials()
		w.see(len(at.Loadings), coordinates(at), g)
		part = before / (2 * (before - (at.Penalized()-w.from.Penalized())/w.length))
		if after := -floats.Dot(g, w.r); after > 0 {
			part = min(part, before/(before-after))
		}
	}
	w.promise = -before * w.length * part / 2
	w.length *= min(max(part, 1./16), 0.5)
	w.cuts++
	if w.cuts == maxCuts && len(w.steps) > 0 && w.from.rows.Alone() { // between owners there are too few
		w.cuts, w.length = 0, 1
		w.forget()
	}
	return w.cuts < maxCuts
}

// Ended reports whether the way promises next to nothing, and has led down again and again.
func (w *Way) Ended() bool { return w.cuts == maxCuts && w.promise >= 0 && w.promise < near }

// coordinates are the loadings of a prior, the roots of its strengths, and the logarithms of the variances of loadings and slopes.
func coordinates(pt *Point) []float64 {
	x := slices.Clone(pt.Loadings)
	for _, v := range strengthsOf(pt.Prior) {
		x = append(x, math.Sqrt(*v))
	}
	x = append(x, logsOf(pt.LoadingVariances)...)
	if pt.W > maxSlopes {
		return x
	}
	for j := range pt.W - 1 {
		x = append(x, math.Log(slopeOf(pt.Slopes, j)))
	}
	return x
}

// partials returns the derivatives of the penalized value by the coordinates, of which variances of loadings stay.
func (pt *Point) partials() []float64 {
	w := pt.W
	out := coordinates(pt)
	loadings, rest := out[:len(pt.Loadings)], out[len(pt.Loadings):]
	if pt.Rank > 0 {
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 2, pt.Transposed(), mixedmodel.Square(pt.slope, w), 0, mixedmodel.Matrix(loadings, pt.Rank, w))
	}
	for a, v := range pt.LoadingVariances {
		floats.AddScaled(loadings[a*w:][:w], 2/v, pt.Column(a))
	}
	spread, traces, means := 0.0, 0.0, 0.0
	for j := range w - 1 {
		spread += slopeOf(pt.Slopes, j) * pt.slope[j*w+j]
		traces += pt.MeanCovariance[j*w+j]
		means += pt.Mean[j] * pt.Mean[j]
	}
	for k, by := range []float64{pt.slope[w*w-1], spread, (float64(w-1) - (traces+means/pt.Noise)/pt.MeanVariance) / pt.MeanVariance} {
		rest[k] *= 2 * by
	}
	rest = rest[3:]
	clear(rest[:len(pt.LoadingVariances)])
	for j := range rest[len(pt.LoadingVariances):] {
		l := &rest[len(pt.LoadingVariances)+j]
		*l = pt.Slope(j)*pt.slope[j*w+j] + 2**l/(slopesDeviation*slopesDeviation)
	}
	return out
}
