package simulation

import (
	"math"
	"slices"
)

// Targets are the subspace distances whose costs a summary contains: iterations, rounds, bytes and seconds.
var Targets = []float64{1e-3, 1e-6, 1e-10}

// A Summary condenses the trials of a setting.
type Summary struct {
	Setting Setting `json:"setting"`
	Origin
	Trials  int             `json:"trials"`
	Band    string          `json:"band"` // the meaning of BandRow.Low and High
	Methods []MethodSummary `json:"methods"`
}

// An Origin names the command that computed trials, and the machine.
type Origin struct {
	Command string `json:"command"`
	Machine string `json:"machine"` // processor, versions and day
}

// A MethodSummary condenses the curves of a method. Distances are measured at node 0. Rounds, bytes and
// seconds are medians over the trials, of whole runs with their initialisation.
type MethodSummary struct {
	Method  string    `json:"method"`
	Final   Spread    `json:"final_distance"`
	Reached []Reached `json:"reached"` // an entry for each of the Targets

	Rounds  float64 `json:"rounds"`
	Bytes   float64 `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// Communication is the modelled part of Seconds, Computation the measured part.
	Communication float64 `json:"communication_seconds"`
	Computation   float64 `json:"computation_seconds"`
	// Diverged is the number of trials that ended early, at an estimate that was not finite.
	Diverged int `json:"diverged_trials"`

	// Curve has a row for every iteration, from 0.
	Curve []BandRow `json:"-"`
}

// A Spread describes one number over the trials.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Reached describes the first iteration whose distance is at most a target: medians over all trials, with the
// initialisation. They are nil if half of the trials or more did not reach the target.
type Reached struct {
	Distance   float64  `json:"distance"`
	Trials     int      `json:"trials"` // the number of trials that reached it
	Iterations *float64 `json:"iterations"`
	Rounds     *float64 `json:"rounds"`
	Bytes      *float64 `json:"bytes"`
	Seconds    *float64 `json:"seconds"`
}

// A BandRow condenses one iteration over the trials: the median and a band of node 0's distance, and the
// medians of bytes and seconds. A curve that ended early keeps its last row.
type BandRow struct {
	Median, Low, High float64
	Bytes, Seconds    float64
}

// quantileTrials is the least number of trials with a 10th and a 90th percentile worth drawing. Between two
// of four draws they would be an interpolation: a band of fewer trials is their whole range.
const quantileTrials = 20

// band returns the quantiles at which the band of a number of trials ends, and their name.
func band(trials int) (low, high float64, name string) {
	if trials < quantileTrials {
		return 0, 1, "range"
	}
	return 0.1, 0.9, "10–90 % band"
}

// Summarize condenses trials, at least one.
func Summarize(s *Setting, trials []Trial, origin Origin) *Summary {
	sum := &Summary{Setting: *s, Origin: origin, Trials: len(trials)}
	_, _, sum.Band = band(len(trials))
	for k := range trials[0].Curves {
		var curves []*Curve
		var modelled, measured []float64
		for i := range trials {
			c := &trials[i].Curves[k]
			if len(c.Rows) == 0 { // its start was not finite
				continue
			}
			seconds := s.Time.communication(c)[len(c.Rows)-1]
			curves = append(curves, c)
			modelled, measured = append(modelled, seconds), append(measured, max(0, c.last().Seconds-seconds))
		}
		if curves != nil {
			m := summarize(curves)
			m.Communication, m.Computation = median(modelled), median(measured)
			sum.Methods = append(sum.Methods, m)
		}
	}
	return sum
}

// summarize condenses the curves of a method.
func summarize(curves []*Curve) MethodSummary {
	m := MethodSummary{Method: curves[0].Method, Final: Spread{Min: math.Inf(1)}}
	length := 0
	for _, c := range curves {
		length = max(length, len(c.Rows))
		m.Final.Min, m.Final.Max = min(m.Final.Min, c.last().SDFirst), max(m.Final.Max, c.last().SDFirst)
		if c.Diverged {
			m.Diverged++
		}
	}
	low, high, _ := band(len(curves))
	for k := range length {
		r := BandRow{
			Bytes:   middle(curves, k, func(r *Row) float64 { return float64(r.Bytes) }),
			Seconds: middle(curves, k, func(r *Row) float64 { return r.Seconds }),
		}
		distances := sorted(curves, k, func(r *Row) float64 { return r.SDFirst })
		r.Median, r.Low, r.High = quantile(distances, 0.5), quantile(distances, low), quantile(distances, high)
		m.Curve = append(m.Curve, r)
	}
	last := &m.Curve[length-1]
	m.Final.Median, m.Bytes, m.Seconds = last.Median, last.Bytes, last.Seconds
	m.Rounds = middle(curves, length-1, func(r *Row) float64 { return float64(r.Rounds) })
	for _, target := range Targets {
		m.Reached = append(m.Reached, reached(curves, target))
	}
	return m
}

// sorted returns a number of row k of every curve, or of its last row before, in ascending order.
func sorted(curves []*Curve, k int, number func(*Row) float64) []float64 {
	v := make([]float64, len(curves))
	for i, c := range curves {
		v[i] = number(&c.Rows[min(k, len(c.Rows)-1)])
	}
	slices.Sort(v)
	return v
}

// middle returns the median of sorted.
func middle(curves []*Curve, k int, number func(*Row) float64) float64 {
	return quantile(sorted(curves, k, number), 0.5)
}

// reached describes the first rows of curves at a target.
func reached(curves []*Curve, target float64) Reached {
	r := Reached{Distance: target}
	first := make([]*Row, len(curves))
	for i, c := range curves {
		if k := slices.IndexFunc(c.Rows, func(r Row) bool { return r.SDFirst <= target }); k >= 0 {
			r.Trials++
			first[i] = &c.Rows[k]
		}
	}
	middle := func(number func(*Row) float64) *float64 {
		v := slices.Repeat([]float64{math.Inf(1)}, len(curves)) // a curve that never reaches it
		for i, row := range first {
			if row != nil {
				v[i] = number(row)
			}
		}
		if m := median(v); !math.IsInf(m, 1) {
			return &m
		}
		return nil
	}
	r.Iterations = middle(func(r *Row) float64 { return float64(r.Iteration) })
	r.Rounds = middle(func(r *Row) float64 { return float64(r.Rounds) })
	r.Bytes = middle(func(r *Row) float64 { return float64(r.Bytes) })
	r.Seconds = middle(func(r *Row) float64 { return r.Seconds })
	return r
}

// median returns the median of v, which it sorts.
func median(v []float64) float64 {
	slices.Sort(v)
	return quantile(v, 0.5)
}

// quantile interpolates between the entries of v, which are sorted.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(at)
	if f := at - float64(i); f > 0 && v[i] != v[i+1] { // both may be infinite
		return (1-f)*v[i] + f*v[i+1]
	}
	return v[i]
}

// To returns the costs of one of the Targets.
func (m *MethodSummary) To(target float64) Reached {
	return m.Reached[slices.Index(Targets, target)]
}
