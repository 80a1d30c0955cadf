package topology

import (
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

func TestServer(t *testing.T) {
	pool := kernel.NewPool(3)
	defer pool.Close()
	for _, l := range []int{1, 2, 7} {
		for _, shape := range shapes {
			before := matrixOf(randomMessages(l, shape[0], shape[1], shape[2], 5))
			want := mat.NewDense(l, before.RawMatrix().Cols, nil)
			for j := range before.RawMatrix().Cols {
				sum := 0.0 // in the order of the nodes, so that the bits must agree
				for i := range l {
					sum += before.At(i, j)
				}
				for i := range l {
					want.Set(i, j, sum/float64(l))
				}
			}
			for _, p := range []*kernel.Pool{nil, pool} {
				if !mat.Equal(mixed(t, NewServer(l, p), shape, 1), want) {
					t.Errorf("%d nodes, shape %v: not the mean", l, shape)
				}
			}
		}
	}
}

func TestServerTraffic(t *testing.T) {
	s := NewServer(5, nil)
	mixed(t, s, [3]int{13, 3, 2}, 1)
	mixed(t, s, [3]int{0, 0, 4}, 1)
	// Every call gathers 5 messages and broadcasts 5.
	want := Traffic{Rounds: 4, Messages: 20, Bytes: 8 * 10 * (41 + 4)}
	if got := s.Traffic(); got != want {
		t.Errorf("traffic %+v, want %+v", got, want)
	}
	for _, rounds := range []int{0, 2} {
		wantError(t, s.Mix(background, randomMessages(5, 2, 2, 0, 1), rounds), "rounds through a server", "must be 1")
	}
	if err := NewServer(0, nil).Mix(background, nil, 1); err != nil {
		t.Errorf("no nodes: %v", err)
	}
}
