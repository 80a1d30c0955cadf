package fit

import (
	"context"
	"encoding/binary"
	"math"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/model"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// A tap keeps all that leaves a process.
type tap struct {
	wire.Transport
	mu     sync.Mutex
	frames [][]byte
}

func (t *tap) Exchange(ctx context.Context, seq uint64, out, in [][]byte) error {
	t.mu.Lock()
	for _, f := range out {
		t.frames = append(t.frames, append([]byte(nil), f...))
	}
	t.mu.Unlock()
	return t.Transport.Exchange(ctx, seq, out, in)
}

// tapped fits with one process a node and returns what left each of them.
func tapped(t *testing.T, w *topology.Weights, f func(net *consensus.Network) (*outcome, error)) ([]*outcome, []*tap) {
	t.Helper()
	groups := make([][]int, w.Len())
	taps := make([]*tap, w.Len())
	for g := range groups {
		groups[g] = []int{g}
	}
	var mu sync.Mutex
	out, failed := apartOver(t, w, groups, func(end wire.Transport) wire.Transport {
		mu.Lock()
		defer mu.Unlock()
		p := &tap{Transport: end}
		taps[end.Hosted()[0]] = p
		return p
	}, f)
	for _, err := range failed {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out, taps
}

// Of all bytes that leave a node in a whole fit, tuning included, no eight are a
// number of X, y or b, in the units of the table or scaled.
func TestNothingPrivateLeavesANode(t *testing.T) {
	s := newSites(9)
	w := weights(t, "ring", 4, topology.Metropolis)
	for _, method := range difalt.Methods() {
		var mu sync.Mutex
		tables := map[int]*dataset.Table{}
		out, taps := tapped(t, w, func(net *consensus.Network) (*outcome, error) {
			tab, err := s.table(net.Hosted(), siteSchema, nil)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			tables[net.Hosted()[0]] = tab
			mu.Unlock()
			c := testConfig(t, 4, 2)
			c.Network, c.Rank, c.Folds, c.Options.Iterations, c.Options.Rounds = net, 0, 2, 4, 2
			if c.Options.Method = method; method != difalt.Accelerated {
				c.Options.Agreement = consensus.Agreement{}
			}
			if c.Train, err = split(tab); err != nil {
				return nil, err
			}
			m, r, err := Fit(t.Context(), tab, c)
			return &outcome{m, r}, err
		})
		for g, o := range out {
			if e := o.r.Exposed; e.Rows != nil {
				t.Fatalf("exposed are %+v", e)
			}
			look(t, taps[g], private(o.m, tables[g]))
		}
	}
}

// private are the numbers that must not leave a node, but for 0 and 1.
func private(m *model.Model, tab *dataset.Table) map[uint64]string {
	secrets := map[uint64]string{}
	keep := func(what string, v float64) {
		if v != 0 && math.Abs(v) != 1 && !math.IsNaN(v) {
			secrets[math.Float64bits(v)] = what
			secrets[math.Float64bits(-v)] = what
		}
	}
	p := m.Parameters()
	x := make([]float64, p.Scaling.Width())
	for i := range tab.Rows() {
		for j, v := range tab.X(x[:len(m.Features())], i) {
			if j < 2 { // levels are 0 or 1
				keep("feature", v)
			}
		}
		p.Scaling.Apply(x)
		for _, v := range x[:2] {
			if v != 0 { // in place of a missing value
				keep("scaled feature", v)
			}
		}
		keep("target", tab.Y(i))
		keep("scaled target", (tab.Y(i)-p.Scaling.Target)/p.Scaling.TargetScale)
		keep("residual", (tab.Y(i)-p.Scaling.Target)/p.Scaling.TargetScale-floats.Dot(x, p.Mean))
	}
	for _, v := range p.Theta {
		keep("coefficient", v)
	}
	return secrets
}

// look searches all bytes for eight that are a secret.
func look(t *testing.T, p *tap, secrets map[uint64]string) {
	t.Helper()
	n := 0
	for _, f := range p.frames {
		n += len(f)
		for i := 0; i+8 <= len(f); i++ {
			if what, found := secrets[binary.LittleEndian.Uint64(f[i:])]; found {
				t.Fatalf("a %s has left the node: %v", what, math.Float64frombits(binary.LittleEndian.Uint64(f[i:])))
			}
		}
	}
	if n < 50_000 || len(secrets) < 100 {
		t.Fatalf("only %d bytes were searched for %d numbers", n, len(secrets))
	}
}

// From the Gram matrix of a single row the row can be computed, up to its sign, and Fit
// must say so; from those of a node that it does not name, none of its rows can.
func TestRowsAreRecoveredWhereExposed(t *testing.T) {
	k := newTruth(4, 3, 1)
	all := emptyTable(t, 3)
	k.add(t, all, "a", 6) // in 5 folds: four have one row
	k.add(t, all, "b", 30)
	k.add(t, all, "c", 40)
	w := weights(t, "path", 3, topology.Metropolis)
	tables := make([]*dataset.Table, 3)
	out, taps := tapped(t, w, func(net *consensus.Network) (*outcome, error) {
		g := net.Hosted()[0]
		tab := emptyTable(t, 3)
		for i := range all.Rows() {
			if all.Task(i) == g {
				if err := tab.Append(all.Tasks()[g], all.Tasks()[g], all.X(make([]float64, 3), i), all.Y(i)); err != nil {
					return nil, err
				}
			}
		}
		tables[g] = tab
		c := testConfig(t, 3, 1)
		c.Network, c.Options.Iterations, c.Options.Rounds = net, 4, 2
		m, r, err := Fit(t.Context(), tab, c)
		return &outcome{m, r}, err
	})
	if e := out[2].r.Exposed; len(e.Rows) != 1 || e.Rows[0] != `"a"` {
		t.Fatalf("exposed are %+v, want the node of a", e)
	}
	for _, g := range []int{0, 2} { // the leaves of the tree, who send sums of their own alone
		found := recovered(out[g].m, tables[g], taps[g])
		if want := g == 0; found > 0 != want {
			t.Errorf("node %d: %d rows were recovered", g, found)
		}
	}
}

// recovered counts the rows of a table that a neighbour computes from what has left a
// node, taking every message of the right length for the Gram matrix of one row.
func recovered(m *model.Model, tab *dataset.Table, p *tap) (n int) {
	scaling := m.Parameters().Scaling
	d := scaling.Width()
	entries := packed(d) + 1 // and whether somebody leaves
	known := map[int]bool{}
	for _, f := range p.frames {
		if len(f) < 8*entries {
			continue
		}
		v := make([]float64, entries)
		for i := range v {
			v[i] = math.Float64frombits(binary.LittleEndian.Uint64(f[len(f)-8*(entries-i):]))
		}
		g := newGram(d)
		g.unpack(v)
		row := make([]float64, d) // the last entry of every row is the constant 1
		for j := range row {
			row[j] = g.zz.At(j, d-1)
		}
		z := make([]float64, d)
		for i := range tab.Rows() {
			tab.X(z[:d-1], i)
			scaling.Apply(z)
			if floats.EqualApprox(z, row, 1e-9) {
				known[i] = true
			}
		}
	}
	return len(known)
}
