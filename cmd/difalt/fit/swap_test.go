package fit

import (
	"fmt"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// TestSwap: in a whole fit all nodes but two, together, cannot tell which of the two has which tasks, however many these are: every
// byte that they send and receive is the same.
func TestSwap(t *testing.T) {
	k := newTruth(4, 3, 1)
	all := emptyTable(t, 3)
	first := []int{0, 3, 9, 12, 16} // tasks of four nodes
	for task := range first[4] {
		k.add(t, all, taskName(task), 8+task%5)
	}
	w := weights(t, "path", 4, topology.Metropolis)
	for _, with := range []Config{{Rank: 0}, {Rank: 1}, {Rank: 1, Curves: []string{"f1"}}} {
		err := testnet.Swap(w.Graph(), 0, 2, func(node int, tr wire.Transport, swap bool) error {
			net, err := consensus.New(w, tr)
			if err != nil {
				return err
			}
			data := node
			if swap && node%2 == 0 {
				data = 2 - node
			}
			tab, err := dataset.NewTable(names(3), true, 0)
			if err != nil {
				return err
			}
			x := make([]float64, 3)
			for i := range all.Rows() {
				if task := all.Task(i); task >= first[data] && task < first[data+1] {
					if err := tab.Append(all.Tasks()[task], fmt.Sprint("n", node), all.X(x, i), all.Y(i)); err != nil {
						return err
					}
				}
			}
			c := testConfig(t, 4, with.Rank)
			c.Network, c.Curves = net, with.Curves
			_, _, err = Fit(t.Context(), tab, c)
			return err
		})
		if err != nil {
			t.Errorf("rank %d, curves %q: %v", with.Rank, with.Curves, err)
		}
	}
}
