package owners

import (
	"context"
	"errors"
	"math"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"gonum.org/v1/gonum/floats"
)

// A frame is the nodes of this process, and the facts that all nodes agree on before the estimation:
// features, their design, and the scale of the target.
type frame struct {
	ctx    context.Context // of Train
	net    *consensus.Network
	c      *Config
	nodes  []*node
	fail   error // of this process; it stops the next sum
	alone  bool  // sums are over the nodes of this process, and nothing is sent
	schema *schema.Schema
	level  []bool // of every agreed feature: it is one of a categorical column
	design model.Design
	target model.Target
	rows   float64 // for training, of all nodes
	tasks  int     // of all nodes
	stage  string  // for Config.Progress
	done   float64 // share of the stage
}

// begin starts a stage.
func (s *frame) begin(stage string) {
	s.stage, s.done = stage, 0
	s.progress()
}

// progress reports the share of the stage. Every sum completes a part of the rest.
func (s *frame) progress() {
	if s.c.Progress != nil {
		s.c.Progress(s.stage, s.done)
	}
}

// A reader reads rows of a node.
type reader struct {
	s                      *frame
	g                      *node
	own, features, columns []float64
}

func (s *frame) reader(g *node) *reader {
	n := len(s.level)
	return &reader{s, g, make([]float64, len(g.table.Features())), make([]float64, n, n+1), make([]float64, s.design.Width())}
}

// read sets features to the agreed features of a row, and returns its target.
func (r *reader) read(row int) float64 {
	r.g.table.X(r.own, row)
	for j, k := range r.g.own {
		if r.features[j] = 0; k >= 0 {
			r.features[j] = r.own[k]
		}
	}
	return r.g.table.Y(row)
}

// apply sets columns to those of a row in the design, and returns its standardised target.
func (r *reader) apply(row int) float64 {
	y := r.read(row)
	r.s.design.Apply(r.columns, r.features)
	return r.s.target.Standardize(y)
}

// eachRow calls f for every training row of a node, with its agreed features, which are valid during the
// call, and its target.
func (s *frame) eachRow(g *node, f func(row int, x []float64, y float64)) {
	r := s.reader(g)
	for row, train := range g.train {
		if train {
			y := r.read(row)
			f(row, r.features, y)
		}
	}
}

// sumRows returns the sum over all training rows of all nodes of the n numbers that f adds to out.
func (s *frame) sumRows(n int, f func(out, x []float64, y float64)) []float64 {
	return s.sum(n, func(i int, out []float64) {
		s.eachRow(s.nodes[i], func(_ int, x []float64, y float64) { f(out, x, y) })
	})
}

// sumColumns returns each sums for every feature, and for the target last: f adds the numbers of a value v of
// column j, unless it is missing.
func (s *frame) sumColumns(each int, f func(out []float64, j int, v float64)) []float64 {
	return s.sumRows(each*(len(s.level)+1), func(out, x []float64, y float64) {
		for j, v := range append(x, y) {
			if !math.IsNaN(v) {
				f(out[each*j:], j, v)
			}
		}
	})
}

// standardise finds the mean and the standard deviation of every feature and of the target; a missing value
// counts as the mean. It adds up values, then sizes of deviations, whose means it returns, and then squares
// of deviations in units of these, so that all numbers fit into sums.
func (s *frame) standardise() []float64 {
	first := s.sumColumns(2, func(out []float64, _ int, v float64) { floats.Add(out[:2], []float64{1, v}) })
	k := len(s.level)
	if s.rows = first[2*k]; !(s.rows >= 1) {
		panic(uneven("the number of rows"))
	}
	mean, count := make([]float64, k+1), make([]float64, k+1)
	for j := range mean {
		count[j] = max(first[2*j], 1)
		mean[j] = first[2*j+1] / count[j]
	}
	size := s.sumColumns(1, func(out []float64, j int, v float64) { out[0] += math.Abs(v - mean[j]) })
	for j := range size {
		if size[j] /= count[j]; size[j] <= 1e-12*math.Abs(mean[j])+1e-30 {
			size[j] = 0
		}
	}
	scale := s.sumColumns(1, func(out []float64, j int, v float64) {
		if size[j] > 0 {
			out[0] += math.Pow((v-mean[j])/size[j], 2)
		}
	})
	for j := range scale {
		scale[j] = size[j] * math.Sqrt(scale[j]/s.rows)
		if !(scale[j] <= largest && math.Abs(mean[j]) <= largest) {
			panic(uneven("means and deviations"))
		}
	}
	s.standard(mean, scale)
	if s.target.Scale == 0 {
		must(&Stop{&Error{errors.New("the targets of all nodes are equal"), "the targets of all nodes are equal"}})
	}
	return size[:k]
}

// standard sets the design without curves, and the target, from the centers and scales of the features and,
// last, the target.
func (s *frame) standard(center, scale []float64) {
	k := len(s.level)
	s.design = model.Design{Fill: center[:k:k], Center: center[:k:k], Scale: scale[:k:k]}
	s.target = model.Target{Column: s.c.TargetColumn, Center: center[k], Scale: scale[k]}
}
