// Package wire has what the nodes of a network send one another, and the rounds in which
// they do.
//
// A Transport carries bytes. In every round one frame crosses every link between two
// processes, in each direction: a header with magic, version, flags, control word, run,
// epoch, sender, sequence number, lengths and a CRC-32C, then a part of a header reduction,
// then the code of the message; a silent node sends the header alone. A neighbour cannot
// begin a round before it has the frames of the one before, so no node is more than a round
// ahead of its neighbours. What is not due is a PeerError, and numbers that are not finite
// are refused where they would enter. If a node has such a number to send, the control word
// floods the network with the news, and all nodes return ErrNotFinite in the same round.
//
// Settings are what nodes must have alike before they begin.
package wire
