package federate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/owners"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/pads"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// A theft is a training on the path 0-1-2-3-4 with the root 2, which reads all totals. A node alters the
// result that it sends along a link in frame number at, and from then on replaces the tags that would show
// it.
type theft struct {
	tables []*dataset.Table
	lie    wire.Link
	at     int // negative: an honest training
	bound  bool
	tags   []uint32 // that the liar receives from the victim in an honest training
}

// A reader decodes the totals of a root with two children from the frames of both and its own masked words.
type reader struct {
	own     *testnet.Spy
	numbers *collective.Numbers
	rows    [][]uint64 // that have come for the next total
	totals  [][]float64
}

func (r *reader) read(f testnet.Frame) {
	var words []uint64
	for code := f.Code(); len(code) >= 24; code = code[24:] {
		for k := range 3 {
			words = append(words, binary.LittleEndian.Uint64(code[8*k:]))
		}
	}
	if r.rows = append(r.rows, words); len(r.rows) < 2 {
		return
	}
	total, down := append([]uint64{}, r.own.Words[:len(words)]...), make([]uint64, len(words)/3)
	pads.AddTo(total, r.rows[0], 3)
	pads.AddTo(total, r.rows[1], 3)
	r.numbers.Decode(down, total)
	v := make([]float64, len(down))
	for k, b := range down {
		v[k] = math.Float64frombits(b)
	}
	r.totals, r.rows = append(r.totals, v), nil
}

// play returns the errors, the totals that the root reads, the tags, how many totals the root had read before
// the lie, and the numbers of the frames along the link with sums between two of one size, as in a loop.
func (a *theft) play(t *testing.T) (errs []error, totals [][]float64, tags []uint32, before int, places []int) {
	const nodes, root = 5, 2
	g, all := must(topology.Path(nodes)), testnet.Spies(t, nodes, a.bound)
	w, r := must(topology.NewWeights(g, topology.Metropolis)), reader{own: all[root], numbers: collective.NewNumbers(nodes)}
	transports := must(testnet.Connect(g, [][]int{{0}, {1}, {2}, {3}, {4}}, testnet.Options{Pads: func(i int) pads.Source { return all[i] }}))
	raw, sent, sizes, mu := uint32(0), 0, [2]int{}, sync.Mutex{}
	tap := testnet.Tap{Sent: func(l wire.Link, f testnet.Frame) {
		mu.Lock()
		defer mu.Unlock()
		if l != a.lie || f.Channel() == wire.Farewell {
			return
		}
		size := len(f.Code())
		if f.Channel() != wire.Sum {
			size = 0
		} else if size == sizes[0] && sizes[1] > 0 {
			places = append(places, sent-1)
		}
		sizes = [2]int{sizes[1], size}
		if sent == a.at {
			f.Code()[2] ^= 1 // a low bit of the first number
			before = len(r.totals)
		} else if a.at >= 0 && sent > a.at {
			f.SetTag(raw) // that of the victim
		}
		sent++
	}, Received: func(l wire.Link, f testnet.Frame) {
		mu.Lock()
		defer mu.Unlock()
		if l == a.lie && f.Channel() != wire.Farewell {
			if raw = f.Tag(); len(tags) < len(a.tags) {
				f.SetTag(a.tags[len(tags)])
			}
			tags = append(tags, raw)
		}
		if l.Node == root && f.Channel() == wire.Sum {
			r.read(f)
		}
	}}
	errs = make([]error, nodes)
	var wait sync.WaitGroup
	for i, tr := range transports {
		wait.Go(func() {
			if i == a.lie.Node || i == root {
				tr = tap.Open(tr, g, w.Fingerprint())
			}
			net := must(consensus.New(w, tr))
			_, _, errs[i] = owners.Train(t.Context(), a.tables[i:i+1], net, owners.Config{Workers: 1, TaskColumn: "task", TargetColumn: "y"})
			tr.Close()
		})
	}
	wait.Wait()
	return errs, r.totals, tags, before, places
}

// In a whole training, a root or an inner node alters one result for one node and hides it. All totals after
// that are noise to it, and all nodes end with ErrInconsistent. Where pads do not follow from results, it
// goes on to read what the honest nodes add.
func TestInconsistentTraining(t *testing.T) {
	var tables []*dataset.Table
	for i := range 5 {
		path := file(t, i, func(rows []string) []string { return rows })
		tables = append(tables, must(dataset.ReadFiles([]string{path}, dataset.TableOptions{Task: "task", Target: "y", Categorical: []string{"kind"}})))
	}
	for _, lie := range []wire.Link{{Node: 2, Peer: 1}, {Node: 1, Peer: 0}} {
		for _, bound := range []bool{true, false} {
			honest := theft{tables: tables, lie: lie, at: -1, bound: bound}
			errs, want, tags, _, places := honest.play(t)
			n := len(places)
			if err := errors.Join(errs...); err != nil || n < 40 {
				t.Fatalf("honest: %d results, %v", n, err)
			}
			// Where a lie changes which operation follows, the nodes end by its wrong length instead.
			places = []int{places[1], places[n/3], places[n/2]}
			if !bound { // later on, the totals differ from those of the honest training, and with them the tags
				places = places[:1]
			}
			for _, at := range places {
				t.Run(fmt.Sprintf("%d lies to %d in %d, bound %v", lie.Node, lie.Peer, at, bound), func(t *testing.T) {
					a := theft{tables, lie, at, bound, tags}
					errs, totals, _, before, _ := a.play(t)
					close, all := 0, 0
					for k := before; k < min(len(totals), len(want)); k++ {
						for j := range min(len(totals[k]), len(want[k])) {
							if x := want[k][j]; x != 0 {
								all++
								if math.Abs(totals[k][j]-x) < 1e-3*math.Abs(x) {
									close++
								}
							}
						}
					}
					if all == 0 || bound && close > 0 || !bound && close < all/2 {
						t.Errorf("the root reads %d of %d numbers: %v", close, all, errs)
					}
					for node, err := range errs {
						if bound && !errors.Is(err, wire.ErrInconsistent) {
							t.Errorf("node %d: %v", node, err)
						}
					}
				})
			}
		}
	}
}
