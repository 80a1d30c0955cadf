// Package nodes is what the nodes of a fit do together outside of the algorithm itself: sums and maxima
// over all of them, exchanges of bytes, and checks that they are about to do the same.
package nodes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
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
	Tasks int      // of all nodes, once CheckDistinct has counted them
	// Secrets of the hosted nodes, by which sums are dithered; nil if there are none.
	Secrets []Secret
	// Numbers is how many numbers all sums together had.
	Numbers int
}

// Alone returns the group of a node that works by itself: what it sums or compares is its own, and nothing is sent.
func Alone() *Group { return new(Group) }

// Len is the number of nodes.
func (group *Group) Len() int {
	if group.Net == nil {
		return 1
	}
	return group.Net.Len()
}

// Zeros returns n zeros for every hosted node.
func (group *Group) Zeros(n int) [][]float64 {
	z := make([][]float64, 1)
	if group.Net != nil {
		z = make([][]float64, len(group.Net.Hosted()))
	}
	for i := range z {
		z[i] = make([]float64, n, n+1) // and what collect adds
	}
	return z
}

// Sum returns the sum over all nodes, of what hosted node i has in z[i]: the same bits
// at all nodes. It overwrites z. A context that has ended at one node ends the sum at all of them, after the
// sum: that node returns the error of its context, and the others ErrLeft.
func (group *Group) Sum(ctx context.Context, z [][]float64) ([]float64, error) {
	if group.Net == nil {
		return z[0], ctx.Err()
	}
	return group.collect(ctx, z, group.Net.Sum)
}

// Largest is as Sum, with the power of two at or below the largest magnitude in place of the sum, and 0 where all have 0.
func (group *Group) Largest(ctx context.Context, z [][]float64) ([]float64, error) {
	if group.Net == nil {
		for k, v := range z[0] {
			if v != 0 {
				z[0][k] = math.Ldexp(1, math.Ilogb(v))
			}
		}
		return z[0], ctx.Err()
	}
	return group.collect(ctx, z, group.Net.Largest)
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
	group.Numbers += n
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

// Gather returns the bytes of every node of the network; own[i] are those of hosted
// node i. Everybody sees them: names and settings, nothing that is made of rows.
func (group *Group) Gather(ctx context.Context, own [][]byte) ([][]byte, error) {
	if _, err := group.Sum(ctx, group.Zeros(0)); err != nil {
		return nil, err
	}
	all, err := group.Net.Gather(context.WithoutCancel(ctx), own)
	group.Net.Commit()
	return all, err
}

// gatherSame is Gather of the same bytes for every hosted node.
func (group *Group) gatherSame(ctx context.Context, b []byte) ([][]byte, error) {
	return group.Gather(ctx, slices.Repeat([][]byte{b}, len(group.Net.Hosted())))
}

// Check returns an error at all nodes if one of them has one. A node that has one
// returns its own.
func (group *Group) Check(ctx context.Context, err error) error {
	z := group.Zeros(1)
	if err != nil {
		z[0][0] = 1
	}
	sum, failed := group.Sum(ctx, z)
	if failed == nil && sum[0] > 0 {
		var text []byte
		if err != nil {
			text = []byte(err.Error())
		}
		var all [][]byte
		if all, failed = group.gatherSame(ctx, text); failed == nil {
			g := slices.IndexFunc(all, func(text []byte) bool { return len(text) > 0 })
			failed = group.trouble(g, string(all[max(g, 0)]))
		}
	}
	if err != nil {
		return err
	}
	return failed
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
	all, err := group.gatherSame(ctx, hash[:12])
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
		return group.clash(0, other, fmt.Errorf("%s and %s have sent settings that cannot be read", group.Name(0), group.Name(other)))
	}
	if d := wire.Difference(differs, "at "+group.Name(other), first, "at "+group.Name(0)); d != "" {
		return group.clash(0, other, errors.New(d))
	}
	return group.clash(0, other, fmt.Errorf("%s has the settings of %s in another order", group.Name(other), group.Name(0)))
}

const (
	// The buckets of a table: four for every name or more, if there may be so many, and two at least.
	leastBuckets, mostBuckets = 1 << 8, 1 << 14
	// Names that shared their bucket so often are the same.
	maxTables = 12
)

// CheckDistinct returns an error at all nodes if two of them have a task of the same name: tasks[i] are those of hosted node i. The
// nodes count how many of them have a name that falls into which bucket of a table, by a hash, and go on with names alone whose bucket
// another node has, too, with other tables, until there are none. So a name that nobody else has is never said.
func (group *Group) CheckDistinct(ctx context.Context, tasks [][]string) error {
	count := group.Zeros(1)
	for i, list := range tasks {
		count[i][0] = float64(len(list))
	}
	sum, err := group.Sum(ctx, count)
	if err != nil {
		return err
	}
	group.Tasks = int(sum[0])
	buckets := leastBuckets
	for buckets < mostBuckets && buckets < 4*group.Tasks {
		buckets *= 2
	}
	for _, own := range inParts(tasks, group.Tasks/(mostBuckets/2)+1) {
		if err := group.checkPart(ctx, own, buckets); err != nil {
			return err
		}
	}
	return nil
}

// inParts returns the names of every hosted node in parts, by a hash.
func inParts(tasks [][]string, parts int) [][][]string {
	own := make([][][]string, parts)
	for part := range own {
		own[part] = make([][]string, len(tasks))
	}
	for i, list := range tasks {
		for _, name := range list {
			part := own[bucket(-1, name, parts)]
			part[i] = append(part[i], name)
		}
	}
	return own
}

// checkPart is CheckDistinct of some names, which it changes.
func (group *Group) checkPart(ctx context.Context, left [][]string, buckets int) error {
	for table := range maxTables {
		z := group.Zeros(buckets)
		for i, list := range left {
			for _, name := range list {
				z[i][bucket(table, name, buckets)] = 1
			}
		}
		sum, err := group.collect(ctx, z, group.Net.Count)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(sum, func(n float64) bool { return n > 1 }) {
			return nil
		}
		for i, list := range left {
			left[i] = slices.DeleteFunc(list, func(name string) bool { return sum[bucket(table, name, buckets)] < 2 })
		}
	}
	return group.sayTwice(ctx, left)
}

// bucket is that of a name in a table.
func bucket(table int, name string, of int) int {
	hash := sha256.Sum256(fmt.Appendf(nil, "%d %s", table, name))
	return int(binary.LittleEndian.Uint32(hash[:]) % uint32(of))
}

// sayTwice returns an error about the first name that two nodes have, of those that each has with another.
func (group *Group) sayTwice(ctx context.Context, tasks [][]string) error {
	own := make([][]byte, len(tasks))
	for i, list := range tasks {
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		own[i] = text
	}
	all, err := group.Gather(ctx, own)
	if err != nil {
		return err
	}
	first := map[string]int{}
	for g, text := range all {
		var list []string
		if err := json.Unmarshal(text, &list); err != nil {
			return &wire.PeerError{Peer: g, Kind: wire.Protocol, Err: errors.New("the names of its tasks, as they have come by way of others, cannot be read")}
		}
		for _, name := range list {
			if other, twice := first[name]; twice {
				return group.clash(other, g, fmt.Errorf("task %q is at %s and at %s: a task lives on one node", name, group.Name(other), group.Name(g)))
			}
			first[name] = g
		}
	}
	return fmt.Errorf("the names of tasks at different nodes cannot be told apart: %w", wire.ErrUntrue)
}

// trouble returns the error that a node has, as this process has heard. Who lives here is named
// in it; whoever else, by a *wire.PeerError: that is no failure of this process, and has come
// by way of others.
func (group *Group) trouble(g int, text string) error {
	switch {
	case g < 0:
		return fmt.Errorf("a node says that it has an error, and does not say which: %w", wire.ErrUntrue)
	case group.hosts(g):
		return fmt.Errorf("%s: %s", group.Name(g), text)
	}
	return &wire.PeerError{Peer: g, Kind: wire.Closed, Err: fmt.Errorf("as it says, by way of others: %s", text)}
}

// clash returns err, about what does not go together at nodes g and h. Where all nodes live
// here it is that; for one of the two the other has it, and for all others the second one.
func (group *Group) clash(g, h int, err error) error {
	switch {
	case group.Net.AllHosted():
		return err
	case group.hosts(h) && !group.hosts(g):
		return &wire.PeerError{Peer: g, Kind: wire.Refused, Err: err}
	case group.hosts(g) && !group.hosts(h):
		return &wire.PeerError{Peer: h, Kind: wire.Refused, Err: err}
	case group.hosts(g):
		return err
	}
	return &wire.PeerError{Peer: h, Kind: wire.Protocol, Err: fmt.Errorf("as they say, by way of others: %w", err)}
}

func (group *Group) hosts(g int) bool { return slices.Contains(group.Net.Hosted(), g) }
