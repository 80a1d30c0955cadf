package mixed

import (
	"slices"

	"github.com/difalt/difalt/internal/rounded"
)

// varianceComponents are the parameters that the evidence determines.
type varianceComponents struct {
	sigma  []float64 // standard deviations over tasks, one a group of columns; 0 stays 0
	group  []int     // group of every column; not changed
	common []float64 // a prior for sigma: see improve; nil for none
	rank   int
	w      []float64 // loadings, linear x rank by columns
	noise  float64   // variance
	// standard deviation of the mean's linear columns, then of every curve's columns and every period's
	tau   []float64
	fixed bool // tau stays as it is
}

// exact reports whether residuals are rounding: they carry no information on noise, outliers or other forms.
func (q *varianceComponents) exact() bool { return q.noise <= 2*leastNoise }

// encode writes variance components to the front of v, and returns v behind them.
func (q *varianceComponents) encode(v []float64) []float64 {
	for _, x := range q.numbers() {
		v[0] = *x
		v = v[1:]
	}
	return v
}

// decode returns variance components of the shape of q that encode has written, and v behind them.
func (q *varianceComponents) decode(v []float64) (*varianceComponents, []float64, error) {
	out := q.clone()
	for _, x := range out.numbers() {
		*x, v = v[0], v[1:]
	}
	if !out.possible() {
		return nil, nil, contradiction("variance components")
	}
	return out, v, nil
}

// possible reports whether variance components are in their ranges: another owner may lie.
func (q *varianceComponents) possible() bool {
	least := func(list []float64, least float64) bool {
		return !slices.ContainsFunc(list, func(v float64) bool { return !(v >= least) })
	}
	return least(q.sigma, 0) && least(q.tau, 0) && q.noise >= leastNoise
}

// clone returns a copy with its own numbers.
func (q *varianceComponents) clone() *varianceComponents {
	out := *q
	out.sigma, out.w, out.tau = slices.Clone(q.sigma), slices.Clone(q.w), slices.Clone(q.tau)
	return &out
}

// numbers returns the places of all variance components.
func (q *varianceComponents) numbers() (list []*float64) {
	for _, v := range [][]float64{q.sigma, q.w, q.tau} {
		for i := range v {
			list = append(list, &v[i])
		}
	}
	return append(list, &q.noise)
}

// penalty returns the logarithm of the prior of sigma given common strengths, -a/2 (log sigma^2 +
// common^2/sigma^2).
func (q *varianceComponents) penalty() (sum float64) {
	for g, c := range q.common {
		if c > 0 {
			ratio := c / q.sigma[g]
			sum -= float64(ownPrior / 2 * (float64(ratio*ratio) - float64(2*rounded.Log(ratio))))
		}
	}
	return sum
}

// pack returns the variance components as a vector: log sigma, loadings, log noise, log tau.
func (q *varianceComponents) pack() []float64 {
	x := slices.Concat(q.sigma, q.w, []float64{q.noise}, q.tau)
	for i, v := range x {
		if i < len(q.sigma) || i >= len(q.sigma)+len(q.w) {
			x[i] = rounded.Log(max(v, leastSigma))
		}
	}
	return x
}

// unpack returns variance components of the shape of q with the values of a vector; a sigma of 0 stays 0.
func (q *varianceComponents) unpack(x []float64) *varianceComponents {
	n := len(q.sigma)
	out := &varianceComponents{rank: q.rank, fixed: q.fixed, group: q.group, common: q.common}
	out.w = slices.Clone(x[n : n+len(q.w)])
	out.sigma = make([]float64, n)
	for g, v := range q.sigma {
		if v > 0 {
			out.sigma[g] = min(rounded.Exp(x[g]), mostStep)
		}
	}
	x = x[n+len(q.w):]
	out.noise = min(max(rounded.Exp(x[0]), leastNoise), mostStep)
	for _, t := range x[1:] {
		out.tau = append(out.tau, min(max(rounded.Exp(t), leastTau), mostTau))
	}
	if q.fixed {
		copy(out.tau, q.tau)
	}
	return out
}
