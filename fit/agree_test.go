package fit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/topology"
)

// gather must give back the bytes of every node, of any lengths, also beyond one sum.
func TestGather(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, sizes := range [][]int{{0, 0, 0}, {1, 0, 7}, {5, 6, 13}, {word*wordsMax - 1, word*wordsMax + 3, 2 * word * wordsMax}} {
		a := &assembly{net: network(t, weights(t, "path", 3, topology.Metropolis))}
		own := make([][]byte, len(sizes))
		for g, n := range sizes {
			own[g] = make([]byte, n)
			for i := range own[g] {
				own[g][i] = byte(r.Uint32())
			}
		}
		got, err := a.gather(t.Context(), own)
		if err != nil {
			t.Fatal(err)
		}
		for g := range own {
			if !bytes.Equal(got[g], own[g]) {
				t.Errorf("sizes %v: node %d comes back differently", sizes, g)
			}
		}
	}
}

// A context that has ended is an error, and nothing is lost by it.
func TestSumCancelled(t *testing.T) {
	a := &assembly{net: network(t, weights(t, "path", 3, topology.Metropolis))}
	ctx, cancel := context.WithCancel(t.Context())
	z := [][]float64{{1}, {2}, {3}}
	if s, err := a.sum(ctx, z); err != nil || len(s) != 1 || s[0] != 6 {
		t.Errorf("sum %v, %v", s, err)
	}
	cancel()
	if _, err := a.sum(ctx, [][]float64{{1}, {2}, {3}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := a.check(t.Context(), errors.New("mine")); err == nil || err.Error() != "mine" {
		t.Errorf("error %v", err)
	}
	if err := a.check(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// Two tasks of one name are refused, whatever their nodes.
func TestDistinct(t *testing.T) {
	a := &assembly{net: network(t, weights(t, "path", 3, topology.Metropolis)), names: []string{"x", "y", "z"}}
	var many []string
	for i := range 30000 {
		many = append(many, fmt.Sprint(i))
	}
	if err := a.distinct(t.Context(), [][]string{{"a"}, many, {"b"}}); err != nil {
		t.Error(err)
	}
	err := a.distinct(t.Context(), [][]string{{"a"}, many, {"b", "1234"}})
	if err == nil || !strings.Contains(err.Error(), `task "1234" is at node 1 ("y") and at node 2 ("z")`) {
		t.Errorf("error %v", err)
	}
}
