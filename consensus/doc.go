// Package consensus averages and adds up numbers over the nodes of a network.
//
// A process hosts some of the nodes, all of them in a simulation, one at the owner of
// data. The same calls do the same for 1, some or all nodes:
//
//	n, err := consensus.New(weights, transport)         // nil: all nodes live here
//	m, err := n.NewMixer(consensus.Agreement{}, pool)   // AGREE, Alg. 1 of the paper
//	err = m.Mix(ctx, messages, rounds)                  // one message a hosted node
//	err = n.Sum(ctx, rows)                              // over all nodes, exactly
//
// Package wire has what goes between processes: transports, frames, and the rounds in
// which they are exchanged. Package collective has masked sums, and broadcasts, along a
// tree. This package has the averaging of messages, on top of both.
//
// # Averaging
//
// A Mixer averages messages with the neighbours. An Agreement says by which protocol: with
// which polynomial of W (plain or Chebyshev) or along a tree, with which Codec, and whether
// nodes with little news stay silent. With a codec or an event trigger, nodes send coded
// differences from a replica that both sides keep; errors of the codes are part of the next
// difference, so that none stays. Results have the same bits wherever nodes live, except that a
// process with all nodes applies several rounds at once, as a power of W, which rounds differently,
// unless Agreement.RoundByRound forbids it.
//
// # Collective operations
//
// Network.Sum, Largest, Gather and Broadcast take the fewest rounds, and end with the same bits
// at all nodes. Mixer.Reduce sums in the headers of rounds of averaging, and has its
// result some rounds later. Sums are masked where nodes live in several processes: nobody learns more
// than the total. Gossip cannot be masked: neighbours see one another's messages.
//
// # Transactions
//
// After an error, Network.Rewind goes back to the last Commit, and the caller makes the
// same calls again: what had succeeded returns what it returned, and what failed goes on
// in the round that failed. The result has the bits that it has without an error. State
// is double-buffered: MarshalBinary of a mixer returns what was committed.
//
// Networks, and their mixers, serve one goroutine at a time.
package consensus
