package nodes

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
)

// apart calls f for the nodes x, y and z in processes of their own, and returns the errors.
func apart(t *testing.T, f func(node int, group *Group) error) []error {
	t.Helper()
	w := path(t, 3).Weights()
	list, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}, {2}}, testnet.Options{RoundTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, 3)
	var wg sync.WaitGroup
	for i, tr := range list {
		wg.Go(func() {
			defer tr.Close()
			net, err := consensus.New(w, tr)
			if err != nil {
				errs[i] = err
				return
			}
			errs[i] = f(i, &Group{Net: net, Names: []string{"x", "y", "z"}})
		})
	}
	wg.Wait()
	return errs
}

// about checks that an error is one about another node.
func about(t *testing.T, what string, err error, node int, kind wire.Kind, text string) {
	t.Helper()
	var peer *wire.PeerError
	if !errors.As(err, &peer) || peer.Peer != node || peer.Kind != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want one about node %d (%v) with %q", what, err, node, kind, text)
	}
}

// TestHearsay: what another node says is no failure of this one: not its trouble, not that it
// has other settings or tasks of the same name.
func TestHearsay(t *testing.T) {
	mine := errors.New("no rows")
	errs := apart(t, func(node int, group *Group) error {
		return group.Check(t.Context(), []error{nil, mine, nil}[node])
	})
	if errs[1] != mine {
		t.Errorf("its own: %v", errs[1])
	}
	for _, i := range []int{0, 2} {
		about(t, "trouble", errs[i], 1, wire.Closed, "by way of others: no rows")
	}
	errs = apart(t, func(node int, group *Group) error {
		return group.CheckAlike(t.Context(), []wire.Setting{{Name: "the columns", Value: []string{"a", "a", "b"}[node]}})
	})
	about(t, "settings", errs[0], 2, wire.Refused, "the columns is b")
	about(t, "settings", errs[1], 2, wire.Protocol, "the columns is b")
	about(t, "settings", errs[2], 0, wire.Refused, "the columns is b")
	errs = apart(t, func(node int, group *Group) error {
		return group.CheckDistinct(t.Context(), [][]string{{[]string{"a", "b", "a"}[node]}})
	})
	about(t, "tasks", errs[0], 2, wire.Refused, `task "a" is at`)
	about(t, "tasks", errs[1], 2, wire.Protocol, `task "a" is at`)
	about(t, "tasks", errs[2], 0, wire.Refused, `task "a" is at`)
}

// TestNobodySaysWhy: a node that says that it has trouble, and not which, is nobody's crash.
func TestNobodySaysWhy(t *testing.T) {
	errs := apart(t, func(node int, group *Group) error {
		if node != 1 {
			return group.Check(t.Context(), nil)
		}
		if _, err := group.Sum(t.Context(), [][]float64{{1}}); err != nil {
			return err
		}
		_, err := group.gatherSame(context.Background(), nil)
		return err
	})
	for _, i := range []int{0, 2} {
		if errs[i] == nil || !strings.Contains(errs[i].Error(), "does not say which") {
			t.Errorf("node %d: %v", i, errs[i])
		}
		if !errors.Is(errs[i], wire.ErrUntrue) {
			t.Errorf("node %d: %v, which is no failure of its own", i, errs[i])
		}
	}
}

// TestTwiceByNobody: that two nodes have a task, when none says so, is nobody's own failure.
func TestTwiceByNobody(t *testing.T) {
	for i, err := range apart(t, func(node int, group *Group) error {
		return group.sayTwice(t.Context(), [][]string{{[]string{"a", "b", "c"}[node]}})
	}) {
		if !errors.Is(err, wire.ErrUntrue) || !strings.Contains(err.Error(), "cannot be told apart") {
			t.Errorf("node %d: %v", i, err)
		}
	}
}
