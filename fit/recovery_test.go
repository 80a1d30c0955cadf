package fit

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// sums returns the collective operations with so many numbers, and whether somebody
// leaves, in which the process has sent something to its neighbour.
func (t *tap) sums(numbers int) (sums [][]float64) {
	for _, f := range t.frames {
		if body, channel := f[wire.HeaderLen:], f[7]; channel >= 64 && channel < 67 && len(body) == 1+8*(numbers+1) {
			v := make([]float64, numbers)
			for i := range v {
				v[i] = math.Float64frombits(binary.LittleEndian.Uint64(body[1+8*i:]))
			}
			sums = append(sums, v)
		}
	}
	return sums
}

// The neighbour of a leaf has the sums of a node itself: from the Gram matrices
// of the folds it has its pooled regression. That of a node with a single task is the task's,
// and Fit must say so.
func TestCoefficientsAreRecoveredWhereExposed(t *testing.T) {
	const features = 3
	k := newTruth(4, features, 1)
	all := emptyTable(t, features)
	for i, task := range []string{"a", "b", "c", "d", "e"} {
		k.add(t, all, task, 30+i)
	}
	nodeOf := []int{0, 1, 1, 2, 2}
	w := weights(t, "path", 3, topology.Metropolis)
	rows := make([][][]float64, 3) // of every node: scaled, the target last
	ofTask := map[int][][]float64{}
	out, taps := tapped(t, w, func(net *consensus.Network) (*outcome, error) {
		g, tab := net.Hosted()[0], emptyTable(t, features)
		for i := range all.Rows() {
			if task := all.Task(i); nodeOf[task] == g {
				if err := tab.Append(all.Tasks()[task], fmt.Sprint("n", g), all.X(make([]float64, features), i), all.Y(i)); err != nil {
					return nil, err
				}
			}
		}
		c := testConfig(t, 3, 1)
		c.Network, c.Options.Iterations, c.Options.Rounds, c.Options.EveryIteration = net, 4, 2, true
		c.Rank = -1
		m, r, err := Fit(t.Context(), tab, c)
		return &outcome{m, r}, err
	})
	if e := out[1].r.Exposed; !slices.Equal(e.Coefficients, []string{`"n0"`}) {
		t.Errorf("exposed are %+v, want the node of a", e)
	}
	scaling := out[0].m.Parameters().Scaling
	width := scaling.Width()
	for i := range all.Rows() {
		g, z := nodeOf[all.Task(i)], make([]float64, width)
		all.X(z[:features], i)
		scaling.Apply(z)
		row := append(z, (all.Y(i)-scaling.Target)/scaling.TargetScale)
		rows[g] = append(rows[g], row)
		ofTask[all.Task(i)] = append(ofTask[all.Task(i)], row)
	}
	for _, g := range []int{0, 2} { // the leaves
		pooled := newGram(width)
		for _, p := range taps[g].sums(packed(width))[:5] {
			fold := newGram(width)
			fold.unpack(p)
			pooled.zz.AddSym(pooled.zz, fold.zz)
			floats.Add(pooled.zy, fold.zy)
		}
		theta := pooled.solve(1e-9)
		if want := regression(rows[g], width); !floats.EqualApprox(theta, want, 1e-6) {
			t.Errorf("node %d: the pooled regression is %v, want %v", g, theta, want)
		}
		for task, rows := range ofTask {
			recovered := floats.Distance(theta, regression(rows, width), 2) < 0.02*floats.Norm(theta, 2)
			if want := g == 0 && task == 0; recovered != want {
				t.Errorf("node %d: coefficients of task %d are recovered: %v", g, task, recovered)
			}
		}
	}
}

// regression returns the coefficients of rows with the target last.
func regression(rows [][]float64, width int) []float64 {
	g := newGram(width)
	for _, row := range rows {
		g.add(row[:width], row[width], 1)
	}
	g.flush()
	return g.solve(1e-9)
}
