// Package nodes is what the nodes of a fit do together outside of the algorithm itself: sums and maxima
// over all of them, exchanges of bytes, and checks that they are about to do the same.
package nodes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
)

// A Group is all nodes of a fit, of which this process hosts some. All processes call the same methods in the same
// order.
type Group struct {
	Net   *consensus.Network
	Names []string // of all nodes; nil until they are known
}

// Zeros returns n zeros for every hosted node.
func (group *Group) Zeros(n int) [][]float64 {
	z := make([][]float64, len(group.Net.Hosted()))
	for i := range z {
		z[i] = make([]float64, n, n+1) // and what collect adds
	}
	return z
}

// Sum returns the sum over all nodes, of what hosted node i has in z[i]: the same bits
// at all nodes. It overwrites z. A context that has ended at one node ends the sum at all of them, after the
// sum: that node returns the error of its context, and the others ErrLeft.
func (group *Group) Sum(ctx context.Context, z [][]float64) ([]float64, error) {
	return group.collect(ctx, z, group.Net.Sum)
}

// Max is as Sum, with the largest in place of the sum.
func (group *Group) Max(ctx context.Context, z [][]float64) ([]float64, error) {
	return group.collect(ctx, z, group.Net.Max)
}

// collect calls a collective with one number more, which says whether the context of a node has ended. The rounds
// themselves are not interrupted, so that nobody waits for a node that has gone.
func (group *Group) collect(ctx context.Context, z [][]float64, collective func(context.Context, [][]float64) error) ([]float64, error) {
	leaves := 0.0
	if ctx.Err() != nil {
		leaves = 1
	}
	for i := range z {
		z[i] = append(z[i], leaves)
	}
	if err := collective(context.WithoutCancel(ctx), z); err != nil {
		return nil, err
	}
	group.Net.Commit()
	n := len(z[0]) - 1
	switch {
	case z[0][n] == 0:
		return z[0][:n], nil
	case leaves > 0:
		return nil, ctx.Err()
	}
	return nil, ErrLeft
}

// ErrLeft says that the context of another node has ended.
var ErrLeft = errors.New("another node has ended the fit")

const (
	// MaxNumbers is how many numbers Gather sends at once.
	MaxNumbers = 1 << 16
	word       = 6       // bytes in a number: an integer below 2^48
	maxBytes   = 1 << 28 // of all nodes
)

// Gather returns the bytes of every node of the network; own[i] are those of hosted
// node i. They are sent as sums of integers to which all other nodes add zeros.
func (group *Group) Gather(ctx context.Context, own [][]byte) ([][]byte, error) {
	l, hosted := group.Net.Len(), group.Net.Hosted()
	z := group.Zeros(l)
	for i, g := range hosted {
		z[i][g] = float64(len(own[i]))
	}
	sizes, err := group.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	all, total := make([][]byte, l), 0.0
	for g, n := range sizes {
		if total += n; !(n >= 0 && total <= maxBytes) || n != math.Trunc(n) {
			return nil, fmt.Errorf("node %d says that it sends %v bytes, at most %d may be", g, n, maxBytes)
		}
	}
	stream := make([]byte, 0, int(total)+word*l) // every node begins a new number
	at := make([]int, l)
	for g, n := range sizes {
		at[g] = len(stream)
		stream = stream[:len(stream)+(int(n)+word-1)/word*word]
	}
	for lo := 0; lo < len(stream); lo += word * MaxNumbers {
		hi := min(lo+word*MaxNumbers, len(stream))
		z := group.Zeros((hi - lo) / word)
		for i, g := range hosted {
			for k, b := range own[i] {
				if p := at[g] + k; p >= lo && p < hi {
					z[i][(p-lo)/word] += float64(uint64(b) << (8 * ((p - lo) % word)))
				}
			}
		}
		sum, err := group.Sum(ctx, z)
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

// gatherSame is Gather of the same bytes for every hosted node.
func (group *Group) gatherSame(ctx context.Context, b []byte) ([][]byte, error) {
	return group.Gather(ctx, slices.Repeat([][]byte{b}, len(group.Net.Hosted())))
}

// Check returns an error at all nodes if one of them has one. A node that has one
// returns its own.
func (group *Group) Check(ctx context.Context, err error) error {
	var text []byte
	if err != nil {
		text = []byte(err.Error())
	}
	all, failed := group.gatherSame(ctx, text)
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	for g, text := range all {
		if len(text) > 0 {
			return fmt.Errorf("%s: %s", group.Name(g), text)
		}
	}
	return nil
}

// Name names a node in an error.
func (group *Group) Name(g int) string {
	if group.Names == nil {
		return fmt.Sprintf("node %d", g)
	}
	return fmt.Sprintf("node %d (%q)", g, group.Names[g])
}

// CheckAlike returns an error at all nodes unless their settings are the same. It names the
// first node that differs from node 0, and the first setting in which it does.
func (group *Group) CheckAlike(ctx context.Context, settings []wire.Setting) error {
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(text)
	all, err := group.gatherSame(ctx, hash[:2*word])
	if err != nil {
		return err
	}
	other := slices.IndexFunc(all, func(b []byte) bool { return !bytes.Equal(b, all[0]) })
	if other < 0 {
		return nil
	}
	// The texts are only sent when they are needed.
	if all, err = group.gatherSame(ctx, text); err != nil {
		return err
	}
	var first, differs []wire.Setting
	if json.Unmarshal(all[0], &first) != nil || json.Unmarshal(all[other], &differs) != nil {
		return fmt.Errorf("%s and %s have sent settings that cannot be read", group.Name(0), group.Name(other))
	}
	if d := wire.Difference(differs, "at "+group.Name(other), first, "at "+group.Name(0)); d != "" {
		return errors.New(d)
	}
	return fmt.Errorf("%s has the settings of %s in another order", group.Name(other), group.Name(0))
}

// CheckDistinct returns an error at all nodes if two of them have a task of the same name:
// tasks[i] are those of hosted node i. Names are compared by their hashes.
func (group *Group) CheckDistinct(ctx context.Context, tasks [][]string) error {
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
	all, err := group.Gather(ctx, own)
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
			for i, node := range group.Net.Hosted() {
				own[i] = nil
				if node == g {
					own[i] = []byte(name[h])
				}
			}
			said, err := group.Gather(ctx, own)
			if err != nil {
				return err
			}
			return fmt.Errorf("task %q is at %s and at %s: a task lives on one node", said[g], group.Name(other), group.Name(g))
		}
	}
	return nil
}
