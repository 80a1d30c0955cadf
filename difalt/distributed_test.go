package difalt_test

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// spy passes messages on to a mixer and remembers every number in them.
type spy struct {
	topology.Mixer
	seen map[float64]bool
	t    *testing.T
}

func (s *spy) Mix(ctx context.Context, z []topology.Message, rounds int) error {
	s.note(z)
	err := s.Mixer.Mix(ctx, z, rounds)
	s.note(z)
	return err
}

func (s *spy) note(z []topology.Message) {
	for _, m := range z {
		if m.Basis != nil {
			if d, r := m.Basis.Dims(); d != 20 || r != 2 {
				s.t.Errorf("a %d x %d matrix leaves a node", d, r)
			}
			for _, v := range m.Basis.Data() {
				s.seen[v] = true
			}
		}
		if len(m.Scalars) > 3 { // r estimates and a one
			s.t.Errorf("%d scalars leave a node at once", len(m.Scalars))
		}
		for _, v := range m.Scalars {
			s.seen[v] = true
		}
	}
}

// TestNothingPrivateLeavesANode listens to all that crosses the network and looks
// for the numbers of X, y and b in it.
func TestNothingPrivateLeavesANode(t *testing.T) {
	s, net := small(t)
	s.Problem.Truth = nil
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.DecAltGDmin} {
		listener := &spy{topology.NewLocal(net.Weights, nil), map[float64]bool{}, t}
		res, err := difalt.Run(t.Context(), s.Problem, &difalt.Network{Weights: net.Weights, Mixer: listener},
			difalt.Options{Rank: 2, Method: method, Iterations: 20, Tolerance: 1e-12})
		if err != nil {
			t.Fatal(err)
		}
		if len(listener.seen) < 1000 {
			t.Fatalf("the listener saw %d numbers only", len(listener.seen))
		}
		for g := range s.x {
			for k, x := range s.x[g] {
				for _, v := range append(append([]float64(nil), x.RawMatrix().Data...), s.y[g][k]...) {
					if listener.seen[v] {
						t.Fatalf("%v: %v of node %d, task %d crossed the network", method, v, g, k)
					}
				}
			}
			for _, v := range res.B[g] {
				if listener.seen[v] {
					t.Fatalf("%v: coefficient %v of node %d crossed the network", method, v, g)
				}
			}
		}
	}
}

// wire is a Mixer that hosts one node and sends its messages to its neighbours
// over channels: a network in miniature.
type wire struct {
	node    int
	weights *topology.Weights
	to      map[int]chan []float64 // by neighbour
	from    map[int]chan []float64
	traffic topology.Traffic
}

// wires connects one wire a node along the edges of the graph.
func wires(w *topology.Weights) []*wire {
	all := make([]*wire, w.Len())
	for g := range all {
		all[g] = &wire{node: g, weights: w, to: map[int]chan []float64{}, from: map[int]chan []float64{}}
	}
	for g := range all {
		for _, j := range w.Graph().Neighbors(g) {
			c := make(chan []float64, 1)
			all[g].to[j], all[j].from[g] = c, c
		}
	}
	return all
}

func (w *wire) Hosted() []int             { return []int{w.node} }
func (w *wire) Traffic() topology.Traffic { return w.traffic }

func (w *wire) Mix(ctx context.Context, z []topology.Message, rounds int) error {
	m := z[0]
	for range rounds {
		var own []float64
		if m.Basis != nil {
			own = append(own, m.Basis.Data()...)
		}
		own = append(own, m.Scalars...)
		sum := make([]float64, len(own))
		for k, v := range own {
			sum[k] = w.weights.At(w.node, w.node) * v
		}
		for _, c := range w.to {
			select {
			case c <- own:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for j, c := range w.from {
			select {
			case theirs := <-c:
				for k, v := range theirs {
					sum[k] += w.weights.At(w.node, j) * v
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		n := 0
		if m.Basis != nil {
			n = copy(m.Basis.Data(), sum)
		}
		copy(m.Scalars, sum[n:])
		w.traffic.Rounds++
		w.traffic.Messages += int64(len(w.to))
		w.traffic.Bytes += int64(8 * m.Entries() * len(w.to))
	}
	return nil
}

// TestOneNodeAProcess runs one solver a node over channels. It must compute what
// one solver for all nodes computes, the initialisation and the stop rule included,
// without knowing the difference.
func TestOneNodeAProcess(t *testing.T) {
	s, net := small(t)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.DecAltGDmin} {
		o := difalt.Options{Rank: 2, Method: method, Iterations: 200, Tolerance: 1e-6, Rounds: 20, Workers: 1}
		want, err := difalt.Run(t.Context(), s.Problem, net, o)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]*difalt.Result, len(s.Nodes))
		errs := make([]error, len(s.Nodes))
		var wg sync.WaitGroup
		for g, w := range wires(net.Weights) {
			wg.Go(func() {
				p := &difalt.Problem{
					Nodes: []*kernel.Tasks{s.Nodes[g]}, Truth: s.Truth,
					TotalTasks: 40, TotalSamples: 40 * 15,
				}
				got[g], errs[g] = difalt.Run(t.Context(), p, &difalt.Network{Weights: net.Weights, Mixer: w}, o)
			})
		}
		wg.Wait()
		var sent topology.Traffic
		for g, res := range got {
			if errs[g] != nil {
				t.Fatal(errs[g])
			}
			if res.Status != want.Status || res.Iterations != want.Iterations {
				t.Errorf("%v: node %d stops as %v after %d iterations, together %v after %d", method, g, res.Status, res.Iterations, want.Status, want.Iterations)
			}
			for k, v := range res.U[0].Data() {
				if math.Abs(v-want.U[g].Data()[k]) > 1e-10 {
					t.Fatalf("%v: U of node %d differs by %g", method, g, v-want.U[g].Data()[k])
				}
			}
			sent.Messages += res.Last.Traffic.Messages
			sent.Bytes += res.Last.Traffic.Bytes
		}
		if sent.Messages != want.Last.Traffic.Messages || sent.Bytes != want.Last.Traffic.Bytes {
			t.Errorf("%v: the nodes sent %+v, together %+v", method, sent, want.Last.Traffic)
		}
	}
}
