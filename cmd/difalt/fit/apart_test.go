package fit

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// apart calls f once a group of nodes, all at the same time as processes would, each
// with its own end of the network, and returns what f returns.
func apart[T any](t *testing.T, w *topology.Weights, groups [][]int, f func(net *consensus.Network) (T, error)) ([]T, []error) {
	t.Helper()
	return apartOver(t, w, groups, func(end wire.Transport) wire.Transport { return end }, f)
}

// apartOver does that with every transport replaced by what over returns for it.
func apartOver[T any](t *testing.T, w *topology.Weights, groups [][]int, over func(wire.Transport) wire.Transport, f func(net *consensus.Network) (T, error)) ([]T, []error) {
	t.Helper()
	ends, err := testnet.Connect(w.Graph(), groups, testnet.Options{RoundTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	out, failed := make([]T, len(groups)), make([]error, len(groups))
	var wg sync.WaitGroup
	for i, end := range ends {
		wg.Go(func() {
			defer end.Close()
			net, err := consensus.New(w, over(end))
			if err == nil {
				out[i], err = f(net)
			}
			failed[i] = err
		})
	}
	wg.Wait()
	return out, failed
}

// groupings are all nodes in one process but over the protocol, in two, and one each.
func groupings(l int) [][][]int {
	two, each := make([][]int, 2), make([][]int, l)
	for g := range l {
		two[g%2] = append(two[g%2], g)
		each[g] = []int{g}
	}
	return [][][]int{two, each}
}

// sites is text of rows of tasks on four nodes, mixed, with levels and missing values.
type sites []string

func newSites(seed uint64) (s sites) {
	r := rand.New(rand.NewPCG(seed, 1))
	var theta [14][2]float64
	for k := range theta {
		theta[k] = [2]float64{1 + r.NormFloat64(), 2 + r.NormFloat64()}
	}
	for i := range 14 * 20 {
		k := r.IntN(len(theta))
		if i < 4 {
			k = i // nodes come in order
		}
		x := [2]float64{3 + r.NormFloat64(), 20 + 10*r.NormFloat64()}
		level := r.IntN(3)
		y := x[0]*theta[k][0] + x[1]*theta[k][1]/10 + float64(level) + r.NormFloat64()
		a := fmt.Sprint(x[0])
		if r.IntN(8) == 0 {
			a = "NA"
		}
		s = append(s, fmt.Sprintf("t%d,n%d,%s,%v,%s,%v", k, k%4, a, x[1], []string{"p", "q", "r"}[level], y))
	}
	return s
}

var siteSchema = schema.Schema{Columns: []string{"a", "b", "site"}, Categories: []schema.Category{{Column: "site", Levels: []string{"p", "q", "r"}}}}

// table is that of the given nodes, with the rows that node g has after change.
func (s sites) table(nodes []int, features schema.Schema, change func(node int, row string) string) (*dataset.Table, error) {
	text := []string{"task,node,a,b,site,y"}
	for _, row := range s {
		for _, g := range nodes {
			if strings.Contains(row, fmt.Sprintf(",n%d,", g)) {
				if change != nil {
					row = change(g, row)
				}
				text = append(text, row)
			}
		}
	}
	return dataset.ReadCSV(strings.NewReader(strings.Join(text, "\n")), dataset.TableOptions{
		Task: "task", Target: "y", Node: "node", Schema: &features, Missing: dataset.MissingKeep,
	})
}

// split holds some rows of the table out.
func split(t *dataset.Table) ([]bool, error) {
	return t.Split(dataset.Split{TestFraction: 0.25, Seed: 5})
}

// What differs between nodes is refused at all of them, with the names of the node and
// of what differs.
func TestRefusedApart(t *testing.T) {
	s := newSites(3)
	w := weights(t, "er:0.5", 4, topology.Metropolis)
	for name, c := range map[string]struct {
		schema schema.Schema
		row    func(row string) string
		config func(c *Config)
		want   string
	}{
		"order":  {schema.Schema{Columns: []string{"b", "a", "site"}, Categories: siteSchema.Categories}, nil, nil, `feature column 0 is "b" at node 2 ("n2"), but "a" at node 0 ("n0")`},
		"fewer":  {schema.Schema{Columns: []string{"a", "b"}}, nil, nil, `the number of feature columns is 2 at node 2 ("n2"), but 3 at node 0`},
		"levels": {schema.Schema{Columns: siteSchema.Columns, Categories: []schema.Category{{Column: "site", Levels: []string{"p", "r", "q"}}}}, nil, nil, `column "site" is one of the levels ["p" "r" "q"] at node 2 ("n2"), but one of the levels ["p" "q" "r"] at node 0`},
		"task":   {siteSchema, func(row string) string { return strings.Replace(row, "t2,", "t3,", 1) }, nil, `task "t3" is at node 2 ("n2") and at node 3 ("n3")`},
		"target": {siteSchema, nil, func(c *Config) { c.TargetColumn = "z" }, `the target column is "z" at node 2 ("n2"), but "y" at node 0`},
		"rank":   {siteSchema, nil, func(c *Config) { c.Rank = 3 }, `the rank is 3 at node 2 ("n2"), but 2 at node 0`},
		"folds":  {siteSchema, nil, func(c *Config) { c.Folds = 1 }, "the number of folds is 1"},
	} {
		for _, groups := range groupings(4)[1:] {
			_, failed := apart(t, w, groups, func(net *consensus.Network) (*model.Model, error) {
				odd, features, change := net.Hosted()[0] == 2, siteSchema, func(_ int, row string) string { return row }
				c2 := testConfig(t, 4, 2)
				c2.Network, c2.TargetColumn = net, "y"
				if odd {
					features = c.schema
					if c.row != nil {
						change = func(_ int, row string) string { return c.row(row) }
					}
					if c.config != nil {
						c.config(&c2)
					}
				}
				tab, err := s.table(net.Hosted(), features, change)
				if err != nil {
					return nil, err
				}
				m, _, err := Fit(t.Context(), tab, c2)
				return m, err
			})
			for i, err := range failed {
				if err == nil || !strings.Contains(err.Error(), c.want) || groups[i][0] != 2 && !strings.Contains(err.Error(), "node 2") {
					t.Errorf("%s, node %d: error %v, want %q", name, groups[i], err, c.want)
				}
			}
		}
	}
}

// A whole fit gives the same bits in one process, in two, and with one process a node:
// every node's U and coefficients, what was chosen, and all scores.
func TestFitApart(t *testing.T) {
	s := newSites(4)
	coded, err := consensus.ParseCodec("int8")
	if err != nil {
		t.Fatal(err)
	}
	spread := 20.0
	for name, change := range map[string]func(c *Config){
		"chosen": func(c *Config) { c.Rank = 0 },
		"coded": func(c *Config) {
			c.Options.Method, c.Options.Agreement.Codec, c.Options.Agreement.Polynomial = difalt.AcceleratedTracking, coded, consensus.Plain
		},
		"scaled": func(c *Config) {
			c.Options.Method, c.Options.Agreement.Polynomial = difalt.ScaledDiffusion, consensus.Chebyshev
		},
		"fixed": func(c *Config) { c.Rank, c.Ridge = 1, &spread },
		"none":  func(c *Config) { c.Rank = -1 },
		"plain": func(c *Config) { c.Plain, c.Rank, c.Ridge = true, 2, &spread },
	} {
		w := weights(t, "ring", 4, topology.Metropolis)
		train := func(net *consensus.Network) (*outcome, error) {
			tab, err := s.table(net.Hosted(), siteSchema, nil)
			if err != nil {
				return nil, err
			}
			c := testConfig(t, 4, 2)
			c.Network, c.Options.Iterations = net, 40
			c.Options.Agreement.RoundByRound = true
			if c.Train, err = split(tab); err != nil {
				return nil, err
			}
			change(&c)
			m, r, err := Fit(t.Context(), tab, c)
			if err != nil {
				return nil, err
			}
			return &outcome{m, r}, nil
		}
		whole, err := train(network(t, w))
		if err != nil {
			t.Fatal(name, err)
		}
		for _, groups := range groupings(4) {
			parts, failed := apart(t, w, groups, train)
			tasks := 0
			for i, part := range parts {
				if failed[i] != nil {
					t.Fatalf("%s, nodes %d: %v", name, groups[i], failed[i])
				}
				comparePart(t, fmt.Sprintf("%s, nodes %d", name, groups[i]), groups[i], part, whole)
				tasks += len(part.m.Tasks())
			}
			if tasks != len(whole.m.Tasks()) {
				t.Errorf("%s: %d tasks in the parts, %d in the whole", name, tasks, len(whole.m.Tasks()))
			}
		}
	}
}

// An outcome is what Fit returns.
type outcome struct {
	m *model.Model
	r *Report
}

// comparePart compares what the process of some nodes has with what one process has.
func comparePart(t *testing.T, name string, nodes []int, part, whole *outcome) {
	t.Helper()
	p, q := part.m.Parameters(), whole.m.Parameters()
	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s differs: %v, want %v", name, what, got, want)
		}
	}
	same("scaling", p.Scaling, q.Scaling)
	same("mean", p.Mean, q.Mean)
	same("prior", p.Prior, q.Prior)
	same("likelihood and explained variance", p.Goodness, q.Goodness)
	same("effects", fmt.Sprint(part.m.Effects()), fmt.Sprint(whole.m.Effects())) // NaN is NaN
	for i, g := range nodes {
		same("node", p.Nodes[i], q.Nodes[g])
	}
	at := map[string]int{}
	for k, task := range q.Tasks {
		at[task] = k
	}
	d, packed := p.Scaling.Width(), p.Width()*(p.Width()+1)/2
	of := func(r *Report) []TaskScore { return slices.Collect(r.Tasks()) }
	for k, task := range p.Tasks {
		j := at[task]
		same("coefficients", p.Theta[k*d:][:d], q.Theta[j*d:][:d])
		if p.CovarianceOf != nil {
			own, other := make([]float64, packed), make([]float64, packed)
			p.CovarianceOf(k, own)
			q.CovarianceOf(j, other)
			same("covariance", own, other)
		}
		same("rows", p.Samples[k], q.Samples[j])
		same("task's errors", fmt.Sprint(of(part.r)[k]), fmt.Sprint(of(whole.r)[j])) // NaN is NaN
	}
	a, b := part.r, whole.r
	same("scores", fmt.Sprint(a.Scores), fmt.Sprint(b.Scores))
	same("choice", a.Chosen, b.Chosen)
	same("what was tried", a.Tried, b.Tried)
	same("verdict", fmt.Sprint(a.Verdict), fmt.Sprint(b.Verdict))
	same("notes", a.Notes, b.Notes)
	same("converged", a.Converged, b.Converged)
	same("traffic", a.Traffic, b.Traffic)
}
