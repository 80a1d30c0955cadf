// Package consensus is how the nodes of a network agree.
//
// A process hosts some of the nodes, all of them in a simulation, one at the owner of
// data. The same calls do the same for 1, some or all nodes:
//
//	n, err := consensus.New(weights, transport)         // nil: all nodes live here
//	m, err := n.NewMixer(consensus.Agreement{}, pool)   // AGREE, Alg. 1 of the paper
//	err = m.Mix(ctx, messages, rounds)                  // one message a hosted node
//	err = n.Sum(ctx, rows)                              // over all nodes, exactly
//
// # Averaging
//
// A Mixer averages messages with the neighbours. An Agreement says with which
// polynomial of W (plain or Chebyshev), with which Codec, and whether nodes with little
// news stay silent. With a codec or an event trigger, nodes send coded differences from
// a replica that both sides keep; errors of the codes are part of the next difference,
// so that none stays. Round by round the results have the same bits wherever nodes
// live; with all nodes in one process a power of W is applied at once where that is
// cheaper, which differs by rounding, unless Agreement.RoundByRound forbids it.
//
// # Collective operations
//
// Network.Sum, Max, MaxSum and Broadcast go along a breadth-first tree of the graph, which all
// nodes know: the fewest rounds, and the same bits at all nodes. Mixer.Tell does the
// same in the headers of rounds of averaging, for what is not urgent.
//
// # Transactions
//
// After an error, Network.Rewind goes back to the last Commit, and the caller makes the
// same calls again: what had succeeded returns what it returned, and what failed goes on
// in the round that failed. The result has the bits that it has without an error. State
// is double-buffered: MarshalBinary of a mixer returns what was committed.
//
// # Frames
//
// A Transport carries bytes. In every round one frame crosses every link between two
// processes, in each direction: a header with magic, version, flags, control word, run,
// epoch, sender, sequence number, lengths and a CRC-32C, then what is left of a
// reduction to be carried, then the code of the message; a silent node sends the header
// alone. A neighbour cannot begin a round before it has the frames of the one before,
// so no node is more than a round ahead of its neighbours. What is not due is a
// PeerError, and numbers that are not finite are refused where they would enter. If a
// node has such a number to send, the control word floods the network with the news, and
// all nodes return ErrNotFinite in the same round.
//
// Packages pipe and faulty are transports for tests and for processes on one machine.
//
// Networks, and their mixers, serve one goroutine at a time.
package consensus
