// Package minimum checks whether the end of a run is a minimum.
//
// A run ends where the gradient vanishes, which holds at saddle points too. Under noise the direction of U
// that the tasks determine least can be fitted noise, and then everything that is computed from the
// coefficients is misleading, such as the statistical error. Look compares that direction with the direction
// outside of U that explains most of the residuals. Nodes with the tasks of a problem call it together, after
// a run.
package minimum

import (
	"context"
	"math"

	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// Verdict is the outcome of Look.
type Verdict uint8

const (
	Minimum      Verdict = iota // no direction is suspicious, or the weakest one stands out of noise
	Saddle                      // another U has a lower objective
	Undetermined                // noise alone could make the weakest direction, or a few tasks determine it
)

// A Standing compares the weakest direction of U with noise.
type Standing struct {
	Verdict Verdict
	// U has a U_g of lower objective for every hosted node if Verdict is Saddle, and is nil otherwise.
	U []*kernel.Basis
	// SingularValues are those of the matrix of all b_t, in ascending order.
	SingularValues []float64
	// Weakest is the increase of the objective without the weakest direction of U, and Next about its
	// decrease with the best further direction; both relative to the best direction in noise alone. They are
	// NaN if nothing was suspicious.
	Weakest, Next float64
	// Share is the number of parameters of a direction divided by the effective number of samples that
	// determine it: the largest of all directions.
	Share float64
	// StatisticalError is the sine of the angle that noise leaves between the weakest direction and the true
	// one; 0 if nothing was suspicious.
	StatisticalError float64
}

// Sums adds rows over all nodes, like consensus.Network: rows[i] belongs to hosted node i and is overwritten
// by the sum.
type Sums interface {
	Sum(ctx context.Context, rows [][]float64) error
}

// Options of Look, the same at all nodes except for Pool.
type Options struct {
	Ridge float64      // of the least squares
	Seed  uint64       // of the search for further directions
	Pool  *kernel.Pool // nil uses one thread
}

const (
	// The weakest direction is suspicious if the tasks' energy in it is below suspicious times the largest
	// that noise makes.
	suspicious = 100
	exact      = 1e-20 // an objective of this part of the sum of y^2 is rounding
	lower      = 1e-7  // least relative decrease of an objective
	standsOut  = 1.5   // a direction explains more than noise above this Weakest
	farAhead   = 10    // times Next: a larger Weakest is determined next to another direction that stands out
	mostShare  = 0.5   // and has enough samples up to this Share
)

// A problem is the data of the nodes, their estimates, and what the nodes have added up.
type problem struct {
	net    Sums
	tasks  []*kernel.Tasks
	u      []*kernel.Basis
	o      Options
	groups []*kernel.Group // b_t fitted to u
	run    *kernel.Executor

	totals
	p    *gram.Matrix
	axes [][]float64 // the eigenvectors of P
}

// totals describe the data of all nodes.
type totals struct {
	features, rank, count, samples  float64 // d, r, T, and the number of samples
	xx                              float64 // mean square of a feature
	squares, objective, unpenalized float64 // sum of y^2, and the objective with and without the ridge
}

// sumScale multiplies sums of squares of the data before they are added, so that they fit into a sum.
const sumScale = 0x1p-20

// Look checks the point u, where u[i] is the orthonormal estimate of the node whose tasks are tasks[i]. All
// nodes of the network call it together and get the same Standing, except for Standing.U. It reads the
// samples a few times.
func Look(ctx context.Context, net Sums, tasks []*kernel.Tasks, u []*kernel.Basis, o Options) (*Standing, error) {
	if o.Pool == nil {
		o.Pool = kernel.NewPool(1)
	}
	k := &problem{net: net, tasks: tasks, u: u, o: o}
	for i, t := range tasks {
		_, r := u[i].Dims()
		k.groups = append(k.groups, kernel.NewGroup(t, r))
	}
	k.run = kernel.NewExecutor(o.Pool, k.groups)
	if err := k.fit(ctx); err != nil {
		return nil, err
	}
	s := &Standing{Weakest: math.NaN(), Next: math.NaN()}
	for _, v := range k.p.Values {
		s.SingularValues = append(s.SingularValues, math.Sqrt(max(v, 0)))
	}
	if k.unpenalized <= exact*k.squares {
		return s, nil
	}
	if suspicious, err := k.isSuspicious(ctx); !suspicious || err != nil {
		return s, err
	}
	return s, k.compare(ctx, s)
}

// compare fills the standing of a suspicious point.
func (k *problem) compare(ctx context.Context, s *Standing) error {
	left, weakest, q, err := k.explained(ctx, s)
	if err != nil {
		return err
	}
	v, next, err := k.strongest(ctx, left)
	if err != nil {
		return err
	}
	edge := k.noise()
	s.Weakest, s.Next = weakest/edge, next/(k.perTask()*k.xx*edge)
	if s.U, err = k.alongArc(ctx, q, v); err != nil {
		return err
	}
	switch {
	case s.U != nil:
		s.Verdict = Saddle
	case s.Weakest < standsOut || s.Share > 1 || s.Share > mostShare && (s.Weakest < suspicious || s.Next > 1):
		s.Verdict = Undetermined
	case s.Next > standsOut && s.Weakest < farAhead*s.Next:
		s.Verdict = Undetermined
	}
	s.StatisticalError = k.tilt(s.Weakest)
	return nil
}

// fit fits b_t to u at every node, and adds up the facts and P = sum_t b_t b_t'.
func (k *problem) fit(ctx context.Context) error {
	k.run.Minimize(k.u, k.o.Ridge)
	d, r := k.u[0].Dims()
	const head = 6
	k.p = gram.New(r)
	sums := make([][]float64, len(k.tasks))
	for i, t := range k.tasks {
		x, y := sizes.Squares(t)
		b, g := k.groups[i].B, k.groups[i]
		sums[i] = append(sums[i], float64(t.Len()), float64(t.TotalSamples()), x*sumScale, y*sumScale,
			g.Objective*sumScale, k.o.Ridge*floats.Dot(b, b)*sumScale)
		sums[i] = append(sums[i], k.p.P...)
		gram.Outer(sums[i][head:], b, r, 1, mostSum)
		keepFinite(sums[i], 0)
	}
	if err := k.net.Sum(ctx, sums); err != nil {
		return err
	}
	total := sums[0]
	k.features, k.rank, k.count, k.samples = float64(d), float64(r), total[0], total[1]
	k.xx, k.squares = total[2]/sumScale/(k.samples*k.features), total[3]/sumScale
	k.unpenalized = total[4] / sumScale
	k.objective = k.unpenalized + total[5]/sumScale
	k.p.Invert(total[head:])
	for a := range r {
		k.axes = append(k.axes, k.p.Vector(a))
	}
	return nil
}

// perTask returns the mean number of samples of a task.
func (k *problem) perTask() float64 { return k.samples / k.count }

// noise returns the largest energy that noise alone makes of a direction that is chosen for it: the variance
// of the noise, estimated from the objective, times (sqrt(d) + sqrt(T))^2.
func (k *problem) noise() float64 {
	width := math.Sqrt(k.features) + math.Sqrt(k.count)
	return k.objective / max(k.samples-k.count*k.rank-k.features*k.rank, 1) * width * width
}

// share returns the number of parameters of a direction divided by the effective number of samples behind it,
// where concentration is sum c^4 / (sum c^2)^2 of the tasks' coefficients c in that direction.
func (k *problem) share(concentration float64) float64 {
	return k.features * concentration / max(k.perTask()-k.rank, 1)
}

// isSuspicious reports whether the weakest direction may be noise, or a few tasks may determine a direction.
// Then (b_t'P^-1 b_t)^2 is large for those tasks; the sum of b_t'P^-1 b_t over all tasks is r.
func (k *problem) isSuspicious(ctx context.Context) (bool, error) {
	left := max(k.perTask()-k.rank-1, 1) * k.xx
	if k.p.Values[0]*left < suspicious*k.noise() {
		return true, nil
	}
	sums := make([][]float64, len(k.groups))
	for i, g := range k.groups {
		leverage := 0.0
		for b := g.B; len(b) > 0; b = b[int(k.rank):] {
			h := k.p.Leverage(b[:int(k.rank)])
			leverage += h * h
		}
		sums[i] = keepFinite([]float64{leverage}, 0)
	}
	err := k.net.Sum(ctx, sums)
	return k.share(sums[0][0]) > 1, err
}

// tilt returns the sine of the angle between a direction and its estimate, if it explains more than noise by
// the factor weakest. If a direction explains theta times the variance of the noise over T tasks of d
// features, its eigenvalue is lambda = (1 + theta)(1 + ratio/theta). With ratio = d/T,
//
//	cos^2 = (1 - ratio/theta^2) / (1 + ratio/theta)
//
// (Baik, Ben Arous and Peche 2005; Paul 2007).
func (k *problem) tilt(weakest float64) float64 {
	ratio := k.features / k.count
	edge := 1 + math.Sqrt(ratio)
	a := weakest*edge*edge - 1 - ratio
	theta := (a + math.Sqrt(max(a*a-4*ratio, 0))) / 2
	if !(theta > 0) {
		return 1
	}
	cos2 := (1 - ratio/(theta*theta)) / (1 + ratio/theta)
	return math.Sqrt(1 - min(max(cos2, 0), 1))
}

// mostSum bounds the numbers of a node in a sum.
const mostSum = 0x1p36

// keepFinite replaces the entries of v that are not finite, or do not fit into a sum, by other.
func keepFinite(v []float64, other float64) []float64 {
	for k, x := range v {
		if !(math.Abs(x) <= mostSum) {
			v[k] = other
		}
	}
	return v
}
