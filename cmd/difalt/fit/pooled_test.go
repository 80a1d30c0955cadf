package fit

import (
	"math"
	"testing"

	"github.com/difalt/difalt/topology"
)

// All that Fit computes over the nodes must be what one computer with all rows
// would compute.
func TestDecentralisedEqualsPooled(t *testing.T) {
	k := newTruth(8, 6, 1)
	tab := k.table(t, 22, 5, 30, 8)
	for _, w := range []*topology.Weights{weights(t, "er:0.4", 8, topology.EqualNeighbor), weights(t, "path", 8, topology.Metropolis)} {
		c := testConfig(t, 2, 2)
		c.Network = network(t, w)
		d, err := newDesign(t.Context(), tab, &c)
		if err != nil {
			t.Fatal(err)
		}
		n := float64(tab.Rows())
		x := make([]float64, 6)
		mean, square, target := make([]float64, 6), make([]float64, 6), 0.0
		for i := range tab.Rows() {
			for j, v := range tab.X(x, i) {
				mean[j] += v / n
			}
			target += tab.Y(i) / n
		}
		for i := range tab.Rows() {
			for j, v := range tab.X(x, i) {
				square[j] += (v - mean[j]) * (v - mean[j]) / n
			}
		}
		for j := range square {
			square[j] = math.Sqrt(square[j])
		}
		checkClose(t, "means", d.Center, mean)
		checkClose(t, "deviations", d.Scale, square)
		checkClose(t, "mean of the target", []float64{d.Target}, []float64{target})
	}
}
