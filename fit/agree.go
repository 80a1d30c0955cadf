package fit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
)

// An assembly is where the nodes of a fit meet outside of the algorithm itself. All
// nodes call the same methods in the same order.
type assembly struct {
	net   *consensus.Network
	names []string // of all nodes
}

// zeros returns n zeros for every hosted node.
func (a *assembly) zeros(n int) [][]float64 {
	z := make([][]float64, len(a.net.Hosted()))
	for i := range z {
		z[i] = make([]float64, n, n+1) // and what sum adds
	}
	return z
}

// sum returns the sum over all nodes, of what hosted node i has in z[i]: the same bits
// at all nodes. A context that has ended at one node ends the sum at all of them: the
// nodes count along who wants to leave, so that nobody waits for one that has left.
func (a *assembly) sum(ctx context.Context, z [][]float64) ([]float64, error) {
	return a.meet(ctx, z, a.net.Sum)
}

// max is as sum, with the largest in place of the sum.
func (a *assembly) max(ctx context.Context, z [][]float64) ([]float64, error) {
	return a.meet(ctx, z, a.net.Max)
}

func (a *assembly) meet(ctx context.Context, z [][]float64, how func(context.Context, [][]float64) error) ([]float64, error) {
	leave := 0.0
	if ctx.Err() != nil {
		leave = 1
	}
	for i := range z {
		z[i] = append(z[i], leave)
	}
	if err := how(context.WithoutCancel(ctx), z); err != nil {
		return nil, err
	}
	a.net.Commit()
	n := len(z[0]) - 1
	switch {
	case z[0][n] == 0:
		return z[0][:n], nil
	case leave > 0:
		return nil, ctx.Err()
	}
	return nil, ErrLeft
}

// ErrLeft is what Fit returns when the context of another node has ended before there was
// a model.
var ErrLeft = errors.New("another node has ended the fit")

const (
	word     = 6       // bytes in a number: an integer below 2^48
	wordsMax = 1 << 16 // numbers in one sum
	bytesMax = 1 << 28 // of all nodes
)

// gather returns the bytes of every node of the network; own[i] are those of hosted
// node i. They are sent as sums of integers to which all other nodes add zeros.
func (a *assembly) gather(ctx context.Context, own [][]byte) ([][]byte, error) {
	l, hosted := a.net.Len(), a.net.Hosted()
	z := a.zeros(l)
	for i, g := range hosted {
		z[i][g] = float64(len(own[i]))
	}
	sizes, err := a.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	all, total := make([][]byte, l), 0.0
	for g, n := range sizes {
		if total += n; !(n >= 0 && total <= bytesMax) || n != math.Trunc(n) {
			return nil, fmt.Errorf("node %d says that it sends %v bytes, at most %d may be", g, n, bytesMax)
		}
	}
	stream := make([]byte, 0, int(total)+word*l) // every node begins a new number
	at := make([]int, l)
	for g, n := range sizes {
		at[g] = len(stream)
		stream = stream[:len(stream)+(int(n)+word-1)/word*word]
	}
	for lo := 0; lo < len(stream); lo += word * wordsMax {
		hi := min(lo+word*wordsMax, len(stream))
		z := a.zeros((hi - lo) / word)
		for i, g := range hosted {
			for k, b := range own[i] {
				if p := at[g] + k; p >= lo && p < hi {
					z[i][(p-lo)/word] += float64(uint64(b) << (8 * ((p - lo) % word)))
				}
			}
		}
		sum, err := a.sum(ctx, z)
		if err != nil {
			return nil, err
		}
		for k, v := range sum {
			if !(v >= 0 && v < 1<<(8*word)) || v != math.Trunc(v) {
				return nil, fmt.Errorf("a node has sent %v where bytes were due", v)
			}
			for j := range word {
				stream[lo+word*k+j] = byte(uint64(v) >> (8 * j))
			}
		}
	}
	for g, n := range sizes {
		all[g] = stream[at[g]:][:int(n)]
	}
	return all, nil
}

// everyHosted returns the same bytes for every hosted node.
func (a *assembly) everyHosted(b []byte) [][]byte {
	own := make([][]byte, len(a.net.Hosted()))
	for i := range own {
		own[i] = b
	}
	return own
}

// check returns an error at all nodes if one of them has one. A node that has one
// returns its own.
func (a *assembly) check(ctx context.Context, err error) error {
	var text []byte
	if err != nil {
		text = []byte(err.Error())
	}
	all, failed := a.gather(ctx, a.everyHosted(text))
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	for g, text := range all {
		if len(text) > 0 {
			return fmt.Errorf("%s: %s", a.node(g), text)
		}
	}
	return nil
}

// node names a node in an error.
func (a *assembly) node(g int) string {
	if a.names == nil {
		return fmt.Sprintf("node %d", g)
	}
	return fmt.Sprintf("node %d (%q)", g, a.names[g])
}

// A term is something that all nodes must have agreed on before they begin.
type term struct{ What, Value string }

// compare returns an error at all nodes unless their terms are the same. It names the
// first node that differs from node 0, and the first term in which it does.
func (a *assembly) compare(ctx context.Context, terms []term) error {
	text, err := json.Marshal(terms)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(text)
	all, err := a.gather(ctx, a.everyHosted(hash[:2*word]))
	if err != nil {
		return err
	}
	other := -1
	for g := range all {
		if other < 0 && !bytes.Equal(all[g], all[0]) {
			other = g
		}
	}
	if other < 0 {
		return nil
	}
	// The texts are only sent when they are needed.
	if all, err = a.gather(ctx, a.everyHosted(text)); err != nil {
		return err
	}
	var first, differs []term
	if json.Unmarshal(all[0], &first) != nil || json.Unmarshal(all[other], &differs) != nil {
		return fmt.Errorf("%s and %s do not speak of the same", a.node(0), a.node(other))
	}
	for k, t := range first {
		if k >= len(differs) || differs[k].What != t.What {
			return fmt.Errorf("%s does not know %s, which is %s at %s", a.node(other), t.What, t.Value, a.node(0))
		}
		if differs[k] != t {
			return fmt.Errorf("%s at %s is %s, but %s at %s", t.What, a.node(other), differs[k].Value, t.Value, a.node(0))
		}
	}
	return fmt.Errorf("%s differs from %s", a.node(other), a.node(0))
}

// distinct returns an error at all nodes if two of them have a task of the same name:
// tasks[i] are those of hosted node i. Names are compared by their hashes.
func (a *assembly) distinct(ctx context.Context, tasks [][]string) error {
	type hash [2 * word]byte
	name := map[hash]string{}
	own := make([][]byte, len(tasks))
	for i, list := range tasks {
		for _, s := range list {
			full := sha256.Sum256([]byte(s))
			h := hash(full[:2*word])
			name[h] = s
			own[i] = append(own[i], h[:]...)
		}
	}
	all, err := a.gather(ctx, own)
	if err != nil {
		return err
	}
	first := map[hash]int{}
	for g, list := range all {
		for ; len(list) >= len(hash{}); list = list[len(hash{}):] {
			h := hash(list)
			other, twice := first[h]
			if !twice {
				first[h] = g
				continue
			}
			// One of the two says the name; the others do not know it.
			for i, node := range a.net.Hosted() {
				own[i] = nil
				if node == g {
					own[i] = []byte(name[h])
				}
			}
			said, err := a.gather(ctx, own)
			if err != nil {
				return err
			}
			return fmt.Errorf("task %q is at %s and at %s: a task lives on one node", said[g], a.node(other), a.node(g))
		}
	}
	return nil
}
