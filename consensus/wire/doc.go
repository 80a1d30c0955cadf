// Package wire defines the frames that the nodes of a network exchange, and exchanges them in rounds.
//
// A Transport carries bytes between processes. In a round, one frame crosses every link on which one is
// due: all links, in both directions, where nodes gossip, and one level of the tree in a collective
// operation. A frame is a header of six bytes, the code of the message, and a CRC-32C over both, the run,
// the sender and the number of the frame along its link. At most two frames are under way along a link: a
// node sends the third after an answer to the first.
//
// A frame that differs from the one that is due is a PeerError, and so are numbers that are not finite. An
// error ends the network at this node; its neighbours find it closed.
//
// Settings are named values that must be equal at all nodes.
package wire
