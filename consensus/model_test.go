package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// A call is one call of a plan, which all processes make. do returns a row of results for every hosted node.
type call struct {
	name string
	do   func(ctx context.Context, p *process) ([][]float64, error)
	want func(node int) []float64 // by plain arithmetic; nil: no result, or only the same bits everywhere
	off  float64                  // the largest difference from want
	err  error                    // that all processes return
	text string                   // in the error of all processes
	ends bool                     // it ends a network of several processes
}

// A process has the network and the exchanges that its calls use again and again.
type process struct {
	*consensus.Network
	pool      *kernel.Pool
	exchanges map[string]consensus.Exchange
}

func (p *process) exchange(name string, rounds int) (consensus.Exchange, error) {
	name += fmt.Sprint(rounds)
	if p.exchanges[name] == nil {
		var err error
		switch strings.TrimRight(name, "0123456789") {
		case "agree":
			p.exchanges[name], err = p.Agree(rounds, p.pool)
		case "neighbours":
			p.exchanges[name] = p.NeighbourMean(p.pool)
		case "server":
			p.exchanges[name] = p.ServerMean()
		default:
			p.exchanges[name] = p.TreeMean()
		}
		if err != nil {
			return nil, err
		}
	}
	return p.exchanges[name], nil
}

// A planner draws the calls of a plan.
type planner struct {
	*rand.Rand
	w *topology.Weights
}

// grid returns n multiples of 2^-20 of a node, whose sums are exact.
func grid(node, n int, seed uint64) []float64 {
	v := numbers(node, n, seed)
	for k := range v {
		v[k] = math.Round(v[k]*0x1p20) * 0x1p-20
	}
	return v
}

// hosted returns f of every hosted node.
func hosted[T any](p *process, f func(node int) T) (list []T) {
	for _, node := range p.Hosted() {
		list = append(list, f(node))
	}
	return list
}

// total returns the sum of f over all nodes.
func (p *planner) total(f func(node int) []float64) []float64 {
	sum := slices.Clone(f(0))
	for node := 1; node < p.w.Len(); node++ {
		for k, v := range f(node) {
			sum[k] += v
		}
	}
	return sum
}

func (p *planner) sum() call {
	n, seed := p.IntN(6), p.Uint64()
	row := func(node int) []float64 { return grid(node, n, seed) }
	return call{name: "sum", do: func(ctx context.Context, at *process) ([][]float64, error) {
		rows := hosted(at, row)
		return rows, at.Sum(ctx, rows)
	}, want: func(int) []float64 { return p.total(row) }}
}

func (p *planner) broadcast() call {
	root, n, seed := p.IntN(p.w.Len()), p.IntN(4), p.Uint64()
	row := func(node int) []float64 { return numbers(node, n, seed) }
	return call{name: fmt.Sprint("broadcast from ", root),
		do: func(ctx context.Context, at *process) ([][]float64, error) {
			rows := hosted(at, row)
			return rows, at.Broadcast(ctx, root, rows)
		}, want: func(int) []float64 { return row(root) }}
}

func (p *planner) gather() call {
	seed := p.Uint64()
	own := func(node int) []byte {
		rng := rand.New(rand.NewPCG(seed, uint64(node)))
		b := make([]byte, rng.IntN(40))
		for k := range b {
			b[k] = byte(rng.Uint32())
		}
		return b
	}
	return call{name: "gather", do: func(ctx context.Context, at *process) ([][]float64, error) {
		all, err := at.Gather(ctx, hosted(at, own))
		return hosted(at, func(int) (row []float64) {
			for node, b := range all {
				row = append(row, float64(node), float64(len(b)))
				for _, x := range b {
					row = append(row, float64(x))
				}
			}
			return row
		}), err
	}, want: func(int) (row []float64) {
		for node := range p.w.Len() {
			row = append(row, float64(node), float64(len(own(node))))
			for _, x := range own(node) {
				row = append(row, float64(x))
			}
		}
		return row
	}}
}

// bound binds a state, or confirms.
func (p *planner) bound() call {
	state := fmt.Sprint(p.Uint64())
	if p.IntN(2) == 0 {
		return call{name: "confirm", do: func(ctx context.Context, at *process) ([][]float64, error) {
			return nil, at.Confirm(ctx)
		}}
	}
	return call{name: "bind", do: func(ctx context.Context, at *process) ([][]float64, error) {
		return nil, at.Bind(ctx, []byte(state))
	}}
}

// average averages messages of random dimensions by a random exchange.
func (p *planner) average() call {
	d, r, scalars, totals := p.IntN(4), 1+p.IntN(2), p.IntN(3), p.IntN(3)
	name := []string{"agree", "neighbours", "server", "tree", "another tree"}[p.IntN(5)]
	rounds, codec, seed := 1+p.IntN(3), consensus.Float64, p.Uint64()
	if strings.HasSuffix(name, "tree") {
		rounds = 1
		codec = []consensus.Codec{consensus.Int8, consensus.Int16, consensus.Float64}[p.IntN(3)]
	}
	gossip := name == "agree" || name == "neighbours"
	if gossip {
		totals = 0
	}
	n := d*r + scalars
	row := func(node int) []float64 { return grid(node, n+totals, seed) }
	c := call{name: fmt.Sprintf("%s in %v", name, codec),
		do: func(ctx context.Context, at *process) ([][]float64, error) {
			x, err := at.exchange(name, rounds)
			if err != nil {
				return nil, err
			}
			z := hosted(at, func(node int) consensus.Message {
				v := row(node)
				m := consensus.Message{Scalars: v[d*r:][:scalars:scalars], Totals: v[n:]}
				if d > 0 {
					m.Basis = kernel.NewBasis(d, r)
					for j := range r {
						copy(m.Basis.Col(j), v[j*d:][:d])
					}
				}
				return m
			})
			err = x.Average(ctx, z, codec)
			rows := make([][]float64, len(z))
			for i, m := range z {
				for j := 0; m.Basis != nil && j < r; j++ {
					rows[i] = append(rows[i], m.Basis.Col(j)...)
				}
				rows[i] = slices.Concat(rows[i], m.Scalars, m.Totals)
			}
			return rows, err
		}}
	switch {
	case gossip:
		c.off, c.want = 1e-12, p.mixed(name, rounds, row)
	case codec == consensus.Float64:
		c.want = func(int) []float64 {
			sum := p.total(row)
			for k := range sum[:n] {
				sum[k] /= float64(p.w.Len())
			}
			return sum
		}
	}
	return c
}

// mixed returns W^rounds applied to the rows of all nodes, or the means over neighbours.
func (p *planner) mixed(name string, rounds int, row func(node int) []float64) func(node int) []float64 {
	l := p.w.Len()
	m := p.w.Dense()
	if name == "neighbours" {
		rounds = 1
		for i := range l {
			for j := range l {
				m.Set(i, j, 0)
			}
			for _, j := range p.w.Graph().Neighbors(i) {
				m.Set(i, j, 1/float64(p.w.Graph().Degree(i)))
			}
			if l == 1 {
				m.Set(i, i, 1)
			}
		}
	}
	var power mat.Dense
	power.Pow(m, rounds)
	return func(node int) []float64 {
		return p.total(func(j int) []float64 {
			v := row(j)
			for k := range v {
				v[k] *= power.At(node, j)
			}
			return v
		})
	}
}

// invalid is a call with arguments that no process may pass; it leaves the network as it was.
func (p *planner) invalid() call {
	tree := func(at *process) consensus.Exchange { x, _ := at.exchange("tree", 1); return x }
	list := []call{
		{text: "rows for", do: func(ctx context.Context, at *process) ([][]float64, error) {
			return nil, at.Sum(ctx, make([][]float64, len(at.Hosted())+1))
		}},
		{text: "rows for", do: func(ctx context.Context, at *process) ([][]float64, error) {
			return nil, at.Broadcast(ctx, 0, nil)
		}},
		{text: "the network has", do: func(ctx context.Context, at *process) ([][]float64, error) {
			return nil, at.Broadcast(ctx, -1, make([][]float64, len(at.Hosted())))
		}},
		{text: "hosted nodes", do: func(ctx context.Context, at *process) ([][]float64, error) {
			_, err := at.Gather(ctx, nil)
			return nil, err
		}},
		{text: "gathers", do: func(ctx context.Context, at *process) ([][]float64, error) {
			_, err := at.Gather(ctx, hosted(at, func(int) []byte { return make([]byte, 1<<22+1) }))
			return nil, err
		}},
		{text: "messages for", do: func(ctx context.Context, at *process) ([][]float64, error) {
			return nil, tree(at).Average(ctx, nil, consensus.Float64)
		}},
		{text: "codec int7", do: func(ctx context.Context, at *process) ([][]float64, error) {
			return nil, tree(at).Average(ctx, make([]consensus.Message, len(at.Hosted())), 7)
		}},
		{text: "does not carry totals", do: func(ctx context.Context, at *process) ([][]float64, error) {
			x, _ := at.exchange("agree", 2)
			z := hosted(at, func(int) consensus.Message { return consensus.Message{Totals: []float64{1}} })
			return nil, x.Average(ctx, z, consensus.Float64)
		}},
	}
	c := list[p.IntN(len(list))]
	c.name = "invalid: " + c.text
	return c
}

// canceled is a call in a context that has ended; it leaves the network as it was.
func (p *planner) canceled() call {
	c := []func() call{p.sum, p.broadcast, p.gather, p.average, p.bound}[p.IntN(5)]()
	do := c.do
	c.do = func(ctx context.Context, at *process) ([][]float64, error) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return do(ended, at)
	}
	c.name, c.err, c.want = "canceled "+c.name, context.Canceled, nil
	return c
}

// retried is a call that one process first makes in a context that has ended.
func (p *planner) retried() call {
	c, late := []func() call{p.sum, p.gather, p.average, p.average, p.bound}[p.IntN(5)](), p.IntN(p.w.Len())
	do := c.do
	c.name = "retried " + c.name
	c.do = func(ctx context.Context, at *process) ([][]float64, error) {
		if slices.Contains(at.Hosted(), late) {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := do(ended, at); !errors.Is(err, context.Canceled) &&
				!strings.Contains(fmt.Sprint(err), "has ended") {
				return nil, fmt.Errorf("in a context that has ended: %v", err)
			}
		}
		return do(ctx, at)
	}
	return c
}

// infinite is a call in which a number of one node cannot be sent.
func (p *planner) infinite() call {
	bad, value := p.IntN(p.w.Len()), []float64{math.NaN(), math.Inf(1), -0x1p64}[p.IntN(3)]
	row := func(node int) []float64 {
		if node == bad {
			return []float64{1, value}
		}
		return []float64{1, 2}
	}
	c := call{err: consensus.ErrNotFinite, ends: true}
	if p.IntN(2) == 0 {
		c.name, c.do = "sum with infinity", func(ctx context.Context, at *process) ([][]float64, error) {
			return nil, at.Sum(ctx, hosted(at, row))
		}
		return c
	}
	c.name, c.do = "average with infinity", func(ctx context.Context, at *process) ([][]float64, error) {
		x, _ := at.exchange("tree", 1)
		z := hosted(at, func(node int) consensus.Message { return consensus.Message{Scalars: row(node)} })
		return nil, x.Average(ctx, z, consensus.Float64)
	}
	return c
}

// plan draws calls; the last ones may follow an error that ends networks of several processes.
func (p *planner) plan() (calls []call) {
	for range 12 {
		draw := []func() call{
			p.sum, p.broadcast, p.gather, p.bound, p.average, p.average, p.average, p.invalid, p.canceled, p.retried}
		calls = append(calls, draw[p.IntN(len(draw))]())
	}
	if p.IntN(3) == 0 {
		at := p.IntN(len(calls))
		calls = slices.Insert(calls, at, p.infinite())
	}
	return calls
}
