// Package wire defines what the nodes of a network send one another, and exchanges it in
// rounds.
//
// A Transport carries bytes. In a round frames cross those links between two processes along
// which something is due: all of them, in both directions, where nodes gossip, and one level of
// the tree in a collective operation. A frame is a header of a few bytes, which may have a
// part of a header reduction, then the code of the message, then a CRC-32C, which is also of
// the run, the epoch, the sender and the number of the frame along its link; a silent node sends
// the header alone. No more than two frames are under way along a link: a node that sends the
// third has had an answer to the first. What is not due is a PeerError, and numbers that are not
// finite are refused where they would enter. If a node has such a number to send, its failure
// goes through the network in the headers, and all nodes return ErrNotFinite in the same round.
//
// Settings are what nodes must have alike before they begin.
package wire
