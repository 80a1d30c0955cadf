package private

import (
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
)

// Numbers of tasks are clipped to mostSize, and those below leastSize in size are 0: products of four of them
// are finite and not 0.
const leastSize, mostSize = 1e-30, 1e30

// clip returns the tasks of hosted nodes with numbers within these bounds. A task beyond them would otherwise
// end a run after its first total, and that would show that it is there. NaN and infinities stay.
func clip(nodes []*kernel.Tasks) []*kernel.Tasks {
	nodes = slices.Clone(nodes)
	for i, k := range nodes {
		if k == nil || isWithin(k) {
			continue
		}
		samples := make([]int, k.Len())
		for t := range samples {
			samples[t] = k.Samples(t)
		}
		b := kernel.NewBuilder(k.Features(), samples, k.Storage())
		eachRow(k, func(t, row int, x []float64, y float64) {
			for j, v := range x {
				x[j] = clipNumber(v)
			}
			b.SetRow(t, row, x, clipNumber(y))
		})
		nodes[i] = b.Tasks()
	}
	return nodes
}

// isWithin reports whether no number of the tasks is clipped.
func isWithin(k *kernel.Tasks) bool {
	within := true
	eachRow(k, func(_, _ int, x []float64, y float64) {
		for _, v := range append(x, y) {
			within = within && (math.IsNaN(v) || clipNumber(v) == v)
		}
	})
	return within
}

// eachRow calls f with the features and the response of every row; x is valid until f returns.
func eachRow(k *kernel.Tasks, f func(t, row int, x []float64, y float64)) {
	x := make([]float64, k.Features(), k.Features()+1)
	for t := range k.Len() {
		for row, y := range k.Y(t) {
			f(t, row, k.Row(x, t, row), y)
		}
	}
}

// clipNumber returns v within the bounds.
func clipNumber(v float64) float64 {
	switch size := math.Abs(v); {
	case size < leastSize:
		return 0
	case size > mostSize && !math.IsInf(v, 0):
		return math.Copysign(mostSize, v)
	}
	return v
}
