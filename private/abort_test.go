package private_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/settings"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/private"
	"gonum.org/v1/gonum/floats"
)

// TestExtremeTasksEndNothing: a run with a task of numbers that are huge or tiny, in features, responses or
// both, succeeds as without it, and that task moves the mean by no more than its share. The caller's tasks
// stay as they are.
func TestExtremeTasksEndNothing(t *testing.T) {
	for _, factors := range [][2]float64{{1, 1}, {1e300, 1}, {1, 1e300}, {1e300, -1e300}, {1e-300, 1}, {1, 1e-300},
		{1e-310, 1e300}, {1e9, 1e12}} {
		p := draw(t, 2, 4, 200, 9, 1, .1, 3)
		k, row := p.Nodes[1], make([]float64, 4)
		b := k.Edit()
		for i, y := range k.Y(5) {
			floats.Scale(factors[0], k.Row(row, 5, i))
			b.SetRow(5, i, row, y*factors[1])
		}
		p.Nodes[1] = b.Tasks()
		before := p.Nodes[1].Y(5)[0]
		a := account(t, 1000, .01, 0)
		res, err := private.Run(t.Context(), p.Nodes, network(t, 2), private.Options{Rank: 1, Account: a, MeanBound: 2})
		if err != nil {
			t.Errorf("factors %v: %v", factors, err)
			continue
		}
		if sd := difalt.SubspaceDistance(res.U, p.Truth); !(sd < .3) || !(floats.Norm(res.Mean, 2) < 1) {
			t.Errorf("factors %v: U is %.3f from the truth, the mean is %.3v", factors, sd, res.Mean)
		}
		if p.Nodes[1].Y(5)[0] != before {
			t.Errorf("factors %v: the tasks of the caller were changed", factors)
		}
	}
	// Numbers that are no numbers are refused at the edge, and spend nothing.
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		p, a := draw(t, 2, 4, 20, 9, 1, .1, 3), account(t, 8, .01, 0)
		b := p.Nodes[0].Edit()
		b.SetRow(2, 1, []float64{1, v, 2, 3}, 4)
		p.Nodes[0] = b.Tasks()
		_, err := private.Run(t.Context(), p.Nodes, network(t, 2), private.Options{Rank: 1, Account: a})
		var data *difalt.DataError
		if !errors.As(err, &data) || a.Rho() != 0 {
			t.Errorf("%v: %v, %v spent", v, err, a.Rho())
		}
	}
}

// lying runs private training at three nodes, of which node 2 calls liar instead; it returns the errors and
// the accounts of the two others.
func lying(t *testing.T,
	liar func(net *consensus.Network, p []*kernel.Tasks,
		o private.Options) error) (errs []error, accounts []*private.Account) {
	t.Helper()
	p, w := draw(t, 3, 5, 30, 9, 2, .1, 1), weightsOf(t, 3)
	errs, accounts = make([]error, 2), make([]*private.Account, 2)
	testnet.Run(w.Graph(), nil, func(node int, tr transport.Transport) error {
		net := must(consensus.New(w, tr))
		o := private.Options{Rank: 2, MeanBound: 3, Account: account(t, 8, .01, 0)}
		if node == 2 {
			return liar(net, p.Nodes[2:], o)
		}
		accounts[node] = o.Account
		_, errs[node] = private.Run(t.Context(), p.Nodes[node:node+1], net, o)
		return nil
	})
	return errs, accounts
}

// digits are the settings of lying, and a number of tasks.
func digits(o private.Options, tasks float64) []float64 {
	list := []consensus.Setting{
		{Name: "Rank", Value: "2"}, {Name: "MeanBound", Value: "3"}, {Name: "Account", Value: o.Account.String()},
		{Name: "the number of features", Value: "5"},
	}
	return append(settings.Digits(list), tasks)
}

// TestLies: numbers that a member makes up, for the number of tasks or for a total, end a run as a
// contradiction between members, never as an error about a node that follows the protocol, and never with a
// panic. What was spent before is named.
func TestLies(t *testing.T) {
	for _, tasks := range []float64{-30, -20.5, -1e19, 1e19, 1e-3, .5, -9} {
		errs, accounts := lying(t, func(net *consensus.Network, _ []*kernel.Tasks, o private.Options) error {
			return net.Sum(t.Context(), [][]float64{digits(o, tasks)})
		})
		for node, err := range errs {
			if !errors.Is(err, consensus.ErrContradiction) || accounts[node].Rho() != 0 ||
				strings.Contains(err.Error(), "spent") {
				t.Errorf("%v tasks: node %d: %v, %v spent", tasks, node, err, accounts[node].Rho())
			}
		}
	}
	for _, lie := range []float64{1e19, -1e19, 1e15, -1e15} {
		for _, at := range []int{0, 4, 5} { // the first and the last number of the mean, and the count of nodes
			errs, accounts := lying(t, func(net *consensus.Network, _ []*kernel.Tasks, o private.Options) error {
				if err := net.Sum(t.Context(), [][]float64{digits(o, 10)}); err != nil {
					return err
				}
				mean := make([]float64, 6)
				mean[5] = 1
				mean[at] = lie
				return net.Sum(t.Context(), [][]float64{mean})
			})
			for node, err := range errs {
				var spent *private.SpentError
				if !errors.Is(err, consensus.ErrContradiction) || !errors.As(err, &spent) ||
					spent.Epsilon != accounts[node].Epsilon() ||
					!strings.Contains(err.Error(), "the privacy budget counts as spent") {
					t.Errorf("%v at %d: node %d: %v", lie, at, node, err)
				}
			}
		}
	}
}

// TestLossOfANode: a run that loses a node after totals says what counts as spent, and which node.
func TestLossOfANode(t *testing.T) {
	errs, accounts := lying(t, func(net *consensus.Network, _ []*kernel.Tasks, o private.Options) error {
		if err := net.Sum(t.Context(), [][]float64{digits(o, 10)}); err != nil {
			return err
		}
		return net.Sum(t.Context(), [][]float64{{0, 0, 0, 0, 0, 1}}) // then its transport closes
	})
	for node, err := range errs {
		var spent *private.SpentError
		var peer *transport.PeerError
		if !errors.As(err, &spent) || !errors.As(err, &peer) || accounts[node].Rho() == 0 ||
			spent.Epsilon != accounts[node].Epsilon() {
			t.Errorf("node %d: %v", node, err)
		}
	}
	a := account(t, 1, .01, 0)
	if err := errors.New("early"); a.Ended(err) != err || a.Ended(nil) != nil {
		t.Error("an error before the first sum is about the budget")
	}
}
