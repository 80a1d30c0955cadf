package mixed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
)

// A node that cannot train ends the training at all nodes: there with its text, elsewhere without.
func TestStops(t *testing.T) {
	large := 19
	for name, c := range map[string]struct {
		spoil func(list []Input)
		o     Options
		want  string
	}{
		"no target": {func(l []Input) { l[1].Table.(*Data).Targets = nil }, Options{},
			"the table has no target column"},
		"large number": {func(l []Input) { l[1].Table.(*Data).Values[0][3] = 2e152 }, Options{},
			`feature "a" is 2e+152`},
		"few rows": {func(l []Input) { l[1] = part(l[1], func(task int) bool { return task == 0 }) }, Options{},
			"training rows for totals, and 7 columns with the constant: it needs 3 for each"},
		"workers": {nil, Options{Workers: -1}, "the number of workers is -1"},
		"held out": {func(l []Input) { l[1].HeldOut = []bool{true} }, Options{},
			"the choice of held-out rows has 1 entries"},
		"rank": {nil, Options{Rank: &large}, "the rank is 19: it must be from 0 to"},
	} {
		t.Run(name, func(t *testing.T) {
			in := mixture(t, 1, 12)
			in.Table.(*Data).Weighting = nil
			list := cut(in, 3)
			if c.spoil != nil {
				c.spoil(list)
			}
			_, errs := apart(t, list, [][]int{{0}, {1}, {2}}, c.o, nil)
			if errs[1] == nil || !strings.Contains(errs[1].Error(), c.want) {
				t.Errorf("the node: %v, want %q", errs[1], c.want)
			}
			check.FailIf(t, errs[2] == nil, "another node has no error")
			var own *Error
			check.FailIf(t, !errors.As(errs[1], &own) || strings.Contains(own.PublicText(), "2e+152"),
				"no public text: %v", errs[1])
		})
	}
}

// Several tables of one process are told apart, and must not have tasks of the same name.
func TestTablesOfOneProcess(t *testing.T) {
	in := mixture(t, 1, 12)
	short := part(in, func(task int) bool { return task == 0 })
	_, _, err := Together(t.Context(), []Input{in, short}, network("path", 2), Options{})
	check.FailIf(t, err == nil || !strings.HasPrefix(err.Error(), "table 2: the table has "),
		"the second table has too few rows: %v", err)
	short.Name = "short.csv"
	_, _, err = Together(t.Context(), []Input{in, short}, network("path", 2), Options{})
	check.FailIf(t, err == nil || !strings.HasPrefix(err.Error(), "short.csv: the table has "),
		"the name of the second table: %v", err)
	_, _, err = Together(t.Context(), []Input{in, in}, network("path", 2), Options{})
	check.Error(t, err, `"task 0", which is there twice`)
}

// Settings differ where options or columns do; the texts of levels are public in private training alone.
func TestSettings(t *testing.T) {
	rank, one, other := 2, leveled(1, "a", "x", "yyyy").Table, leveled(1, "a", "x", "zz").Table
	same := func(a, b []consensus.Setting) bool { return consensus.Difference(a, "a", b, "b") == "" }
	o, p := &Options{Rank: &rank}, &Privacy{Epsilon: 1}
	plain := Settings(one, o, nil)
	for name, ok := range map[string]bool{
		"protocol":       plain[0] == consensus.Setting{Name: "protocol of the training", Value: fmt.Sprint(protocol)},
		"levels":         same(plain, Settings(other, o, nil)),
		"private levels": !same(Settings(one, o, p), Settings(other, o, p)),
		"privacy":        !same(plain, Settings(one, o, p)),
		"rank":           !same(plain, Settings(one, &Options{}, nil)),
		"logarithm":      !same(plain, Settings(one, &Options{Rank: &rank, LogTarget: true}, nil)),
		"curves":         !same(plain, Settings(one, &Options{Rank: &rank, NoCurves: true}, nil)),
		"noise":          !same(plain, Settings(one, &Options{Rank: &rank, CommonNoise: true}, nil)),
		"workers":        same(plain, Settings(one, &Options{Rank: &rank, Workers: 3}, nil)),
		"target":         !same(plain, Settings(one, &Options{Rank: &rank, TargetColumn: "y"}, nil)),
		"task":           !same(plain, Settings(one, &Options{Rank: &rank, TaskColumn: "t"}, nil)),
		"columns":        !same(plain, Settings(mixture(t, 1, 2).Table, o, nil)),
	} {
		check.FailIf(t, !ok, "%s: settings are equal that should differ, or differ that should be equal", name)
	}
}

// A node whose context ends at any exchange stops all nodes after the same sum.
func TestContextEnds(t *testing.T) {
	list := cut(mixture(t, 1, 12), 3)
	for _, at := range []int{0, 3, 17, 60, 200} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			_, errs := apart(t, list, [][]int{{0}, {1}, {2}}, open,
				func(node int, tr transport.Transport) (transport.Transport, context.Context) {
					if node != 1 {
						return tr, t.Context()
					}
					ctx, cancel := context.WithCancel(t.Context())
					return &ending{tr, at, cancel}, ctx
				})
			for i, err := range errs {
				var peer *transport.PeerError
				check.FailIf(t, errors.Is(err, context.Canceled) != (i == 1) || errors.As(err, &peer) != (i != 1),
					"node %d: %v", i, err)
			}
		})
	}
}

// An ending transport cancels its node's context at an exchange.
type ending struct {
	transport.Transport
	left   int
	cancel func()
}

func (e *ending) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if e.left--; e.left < 0 {
		e.cancel()
	}
	return e.Transport.Exchange(ctx, seq, out, in, due)
}
