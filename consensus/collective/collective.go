// Package collective computes with what all nodes of a network have: sums, largest magnitudes
// and broadcasts, along a breadth-first spanning tree of the graph, which all nodes know. So
// they take the fewest rounds, and their results have the same bits at all nodes.
//
// Sums are those of integers modulo a power of two, to which numbers are rounded. So they do
// not depend on an order, and where nodes live in several processes they are masked: every two
// nodes that are partners share a secret, from which one of them adds and the other takes away
// the same random words. The masks cancel in the sum over all nodes, and of anything less than
// that nothing can be seen (Bonawitz et al., Practical secure aggregation for privacy-preserving
// machine learning, 2017; Bell et al., Secure single-server aggregation with (poly)logarithmic
// overhead, 2020).
package collective

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
)

// Collectives are the collective operations of a network. z[i] belongs to node Hosted()[i],
// all have one length, the same at all nodes of the network, and are overwritten by the
// same bits at every node. All nodes must call the same operations in the same order. A
// number that is not finite is an error that wraps wire.ErrNotFinite, at all nodes. After
// an error z is unspecified.
type Collectives struct {
	rounds  *wire.Rounds
	keys    *Keys // nil: all nodes live here
	traffic *wire.Traffic
	tree    *Tree
	op      Operation
	numbers numbers
	votes   votes
	copies  copies

	gathering gathering
}

// New returns the collective operations of the nodes of r along a tree. What they send is
// added to traffic. It panics if one of them is nil.
func New(r *wire.Rounds, tree *Tree, traffic *wire.Traffic) *Collectives {
	if r == nil || tree == nil || traffic == nil {
		panic("consensus: collective operations need rounds, a tree and traffic")
	}
	c := &Collectives{rounds: r, traffic: traffic, tree: tree}
	if !r.AllHosted() {
		c.keys = &Keys{rounds: r}
	}
	return c
}

// Sum overwrites z[i] by the sum over all nodes. It goes up a breadth-first tree from
// a centre of the graph and the result down again: 2 x height rounds, L-1 messages
// each way. Nodes see nothing but the result; with two nodes each learns by it what the other
// has.
//
// Every number is rounded to a multiple of a power of two, which is so small that the largest
// number of all nodes keeps its 53 bits; sums of integers up to 2^53 are exact. All entries of
// a row share that power, and what is below it is lost: of 8 nodes, 2^-132 where the largest
// number is between 2^-79 and 2^56. Where it is not, as votes in the same message show, the
// nodes find out by Largest and add up again.
func (c *Collectives) Sum(ctx context.Context, z [][]float64) error {
	return c.SumWith(ctx, wire.Sum, nil, c.traffic, z)
}

// SumWith is Sum on another channel, with a header reduction in its headers; what is sent is
// added to traffic.
func (c *Collectives) SumWith(ctx context.Context, channel wire.Channel, h *HeaderReduction, traffic *wire.Traffic, z [][]float64) error {
	ok, err := c.sum(ctx, channel, h, traffic, z, 0)
	if ok || err != nil {
		return err
	}
	largest := zeroRows(len(z), 1)
	for i, row := range z {
		largest[i][0] = maxAbs(row)
	}
	if err := c.Largest(ctx, largest); err != nil {
		return err
	}
	// The largest is just below the top of the window.
	shift := math.Ilogb(largest[0][0]) + 1 - c.numbers.window.top
	ok, err = c.sum(ctx, channel, nil, traffic, z, shift)
	if !ok && err == nil {
		err = fmt.Errorf("consensus: the nodes add up other numbers than those of which they have told the size: %w", wire.ErrUntrue)
	}
	return err
}

// SumIntegers is Sum of whole numbers of at most 2^53, which fit into the first window. Nothing but their total is told of
// them: if a node votes that its own do not fit, that is an error, and the nodes do not say more of theirs.
func (c *Collectives) SumIntegers(ctx context.Context, z [][]float64) error {
	ok, err := c.sum(ctx, wire.Sum, nil, c.traffic, z, 0)
	if !ok && err == nil {
		err = fmt.Errorf("consensus: a node adds numbers that are no integers below 2^53: %w", wire.ErrUntrue)
	}
	return err
}

// SumBytes returns how many bytes a sum of so many numbers, over so many nodes, sends up and down
// every edge of the tree, without headers.
func SumBytes(numbers, nodes int) (up, down int) {
	return Form{{numbers, digits * wordBits}, countOf(voteKinds, nodes)}.Len(), Form{{numbers, wordBits}, {1, 2}}.Len()
}

// LongestMessage bounds the bytes that a node sends at once where so many nodes add up that many
// numbers at a time, or gather anything.
func LongestMessage(numbers, nodes int) int {
	up, _ := SumBytes(numbers, nodes)
	return max(up, MaxGather, nodes*(partHeader+2))
}

// SumRounds returns how many rounds Sum takes.
func (c *Collectives) SumRounds() int { return 2 * c.tree.Height }

// Largest overwrites every entry by the power of two at or below the largest magnitude that
// any node has there, and by 0 if all have 0. The nodes see how many of them have theirs in
// which range of 64 powers of two, and of those in the highest range how many have which power,
// but not who. It takes the rounds of two sums.
func (c *Collectives) Largest(ctx context.Context, z [][]float64) error {
	if err := c.rounds.CheckRows(z); err != nil {
		return err
	}
	highest := make([]int, len(z[0])) // the range, and then the exponent, above leastExponent; negative if all have 0
	for pass, classes := range []int{ranges, rangeLen} {
		votes := zeroRows(len(z), len(highest)*classes)
		for i, row := range z {
			for k, x := range row {
				if x == 0 || x-x != 0 {
					continue
				}
				e := math.Ilogb(x) - leastExponent
				switch {
				case pass == 0:
					votes[i][k*classes+e/rangeLen]++
				case e/rangeLen == highest[k]:
					votes[i][k*classes+e%rangeLen]++
				}
			}
		}
		if err := c.count(ctx, votes, z); err != nil {
			return err
		}
		for k := range highest {
			highest[k] = highest[k]*rangeLen + Last(votes[0][k*classes:][:classes])
		}
	}
	for _, row := range z {
		for k, e := range highest {
			if row[k] = 0; e >= 0 {
				row[k] = math.Ldexp(1, e+leastExponent)
			}
		}
	}
	return nil
}

// Ranges of exponents, from that of the smallest number to that of the largest.
const (
	leastExponent = -1074
	rangeLen      = 64
	ranges        = (1023-leastExponent)/rangeLen + 1
)

// Last returns the index of the last count that is not zero, or -1.
func Last[T uint64 | float64](counts []T) int {
	k := len(counts) - 1
	for k >= 0 && counts[k] == 0 {
		k--
	}
	return k
}

func zeroRows(rows, n int) [][]float64 {
	z := make([][]float64, rows)
	for i := range z {
		z[i] = make([]float64, n)
	}
	return z
}

// Broadcast overwrites z[i] by what node root has, in as many rounds as the farthest
// node is hops away, by L-1 messages, each answered by a header. Everybody on the way sees it.
func (c *Collectives) Broadcast(ctx context.Context, root int, z [][]float64) error {
	if root < 0 || root >= c.rounds.Graph.Len() {
		return fmt.Errorf("consensus: a broadcast from node %d: the network has %d", root, c.rounds.Graph.Len())
	}
	if err := c.rounds.CheckRows(z); err != nil {
		return err
	}
	tree := c.tree
	if root != tree.Root {
		tree = NewTree(c.rounds.Graph, root)
	}
	c.copies.set(z)
	c.op.open(c.rounds, nil, wire.Broadcast, tree, true)
	return c.run(ctx, root, &c.copies, nil, c.traffic)
}

// sum is SumWith in the unit 2^shift. It returns false if the numbers are too large for it, or
// too small.
func (c *Collectives) sum(ctx context.Context, channel wire.Channel, h *HeaderReduction, traffic *wire.Traffic, z [][]float64, shift int) (bool, error) {
	if err := c.rounds.CheckRows(z); err != nil {
		return false, err
	}
	c.numbers.set(z, shift, c.rounds.Graph.Len())
	c.op.open(c.rounds, c.keys, channel, c.tree, false)
	err := c.run(ctx, shift, &c.numbers, h, traffic)
	if err == nil && c.numbers.over {
		err = fmt.Errorf("%w: %v", wire.ErrNotFinite, channel)
		if !c.rounds.AllHosted() { // a sum of large numbers, or a lie
			err = fmt.Errorf("%w: %w", err, wire.ErrUntrue)
		}
	}
	return err == nil && c.numbers.fit, err
}

// Count overwrites votes, which are 0 or 1, by how many nodes have 1 there: in the rounds of Sum,
// with two bits more a vote than the number of nodes has, where a sum takes 24 bytes.
func (c *Collectives) Count(ctx context.Context, votes [][]float64) error {
	if err := c.rounds.CheckRows(votes); err != nil {
		return err
	}
	return c.count(ctx, votes, votes)
}

// count overwrites votes, which are 0 or 1, by how many nodes have each. They are not sent if a
// number in z, of which they are made, is not finite.
func (c *Collectives) count(ctx context.Context, votes, z [][]float64) error {
	c.votes.set(votes, z, c.rounds.Graph.Len())
	c.op.open(c.rounds, c.keys, wire.Count, c.tree, false)
	defer func() { c.votes.z, c.votes.about = nil, nil }() // there may be 64 a number
	return c.run(ctx, 0, &c.votes, nil, c.traffic)
}

// run carries out c.op, which has been opened, with rows. argument is the root of a broadcast or
// the shift of a sum.
func (c *Collectives) run(ctx context.Context, argument int, rows rowsContent, h *HeaderReduction, traffic *wire.Traffic) error {
	if err := c.Join(ctx); err != nil {
		return err
	}
	op := &c.op
	call := wire.Call{Operation: op.channel.String(), Arguments: [5]int{argument, rows.len()}}
	progress, kept, err := c.rounds.Begin(call)
	if err != nil {
		return err
	}
	if progress == wire.Repeated {
		form := rows.Down() // op may be that of the call which failed
		down := make([]uint64, form.words())
		form.read(down, kept)
		rows.take(down)
		return nil
	}
	if progress == wire.Started {
		op.Start(op.channel, rows)
	}
	var part wire.HeaderPart
	if h != nil {
		h.Mask()
		part = h
	}
	err = c.rounds.Run(ctx, op, part, op.Rounds(), false, traffic)
	if err == nil && (!op.downOnly || slices.Contains(op.Silent, true)) { // the failure of a root is known to all
		err = c.rounds.Settle()
	}
	if err != nil {
		return err
	}
	c.rounds.End(func(p []byte) []byte { return op.down.append(p, op.Down) })
	rows.take(op.Down)
	return nil
}

// An Operation carries a content along a tree, in rounds of its own; its result is in Down.
type Operation struct{ relay }

// NewOperation returns an operation that adds up along the tree of c.
func (c *Collectives) NewOperation() *Operation {
	return &Operation{relay{rounds: c.rounds, keys: c.keys, tree: c.tree}}
}

// open says how the next content is carried.
func (o *Operation) open(r *wire.Rounds, keys *Keys, channel wire.Channel, tree *Tree, downOnly bool) {
	o.rounds, o.keys, o.channel, o.tree, o.downOnly = r, keys, channel, tree, downOnly
}

// Start starts to add up a content. All nodes must have joined.
func (o *Operation) Start(channel wire.Channel, content Content) {
	o.channel = channel
	o.fill(content)
	o.mask()
}

// Complete reports whether all rounds are done.
func (o *Operation) Complete() bool { return o.Round == o.Rounds() }

// Step implements wire.Operation.
func (o *Operation) Step() wire.Traffic {
	messages, length, answers := o.step(o.rounds.Code)
	return wire.Traffic{Rounds: 1, Messages: messages + answers, Bytes: messages * length}
}
