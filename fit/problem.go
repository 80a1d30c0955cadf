package fit

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// maxMoments is the number of features from which on steps by their moments take more
// time than they save.
const maxMoments = 500

// problem returns what the algorithm finds a basis for: the rows of all tasks less the mean of a
// point, seen through its random intercepts.
func problem(ctx context.Context, rows *evidence.Rows, pt *evidence.Point) (*difalt.Problem, error) {
	w := rows.Width
	p, row := &difalt.Problem{}, make([]float64, w)
	for _, tasks := range rows.Tasks {
		samples := make([]int, len(tasks))
		for i := range tasks {
			samples[i] = len(tasks[i].Y)
		}
		b := kernel.NewBuilder(w, samples, kernel.Float64)
		for i := range tasks {
			eachDemeaned(&tasks[i], pt, row, func(s int, y float64) { b.SetRow(i, s, row, y) })
		}
		p.Nodes = append(p.Nodes, b.Tasks())
	}
	if w > maxMoments {
		return p, nil
	}
	// How features vary together: as collinear columns do, plain steps would take thousands of
	// iterations.
	var l nodes.Layout
	gram, number := l.Span(w*(w+1)/2), l.Span(1) // of the rows that are seen
	sum, err := rows.Sum(ctx, l.Len, func(g, i int, out []float64) {
		row := make([]float64, w)
		eachDemeaned(&rows.Tasks[g][i], pt, row, func(int, float64) {
			evidence.AddTriangle(gram.Of(out), row)
			number.Add(out, 1)
		})
	})
	if err != nil {
		return nil, err
	}
	p.Moments = mat.NewSymDense(w, nil)
	triangle := gram.Of(sum)
	for i := range w {
		for j, v := range triangle[:w-i] {
			p.Moments.SetSym(i, i+j, v/number.First(sum))
		}
		triangle = triangle[w-i:]
	}
	if !rows.Alone() {
		evidence.Raise(p.Moments.RawSymmetric().Data, w)
	}
	return p, nil
}

// eachDemeaned sets row to the rows of a task, one after the other, as seen through the random intercept of a point, and calls
// visit with their targets, less the mean. With an intercept of variance v a task, that is z - c mean(z) in place of z,
// c = 1 - 1/sqrt(1 + n v): quasi-demeaning.
func eachDemeaned(t *mixedmodel.Task, pt *evidence.Point, row []float64, visit func(s int, y float64)) {
	w := len(row)
	// Sums of rows, targets and ones, since rows may have been combined, by their constants.
	sumZ, sumY, ones := make([]float64, w), 0.0, 0.0
	y := slices.Clone(t.Y)
	for s := range t.Y {
		z := t.Z[s*w:][:w]
		y[s] -= floats.Dot(z, pt.Mean)
		floats.AddScaled(sumZ, z[w-1], z)
		sumY += z[w-1] * y[s]
		ones += z[w-1] * z[w-1]
	}
	c := 0.0
	if ones > 0 {
		c = (1 - 1/math.Sqrt(1+pt.Intercept*ones)) / ones
	}
	for s := range t.Y {
		z := t.Z[s*w:][:w]
		floats.AddScaledTo(row, z, -c*z[w-1], sumZ)
		visit(s, y[s]-c*z[w-1]*sumY)
	}
}
