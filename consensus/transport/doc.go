// Package transport has what a transport between the processes of a network needs: the interfaces that it
// implements, the errors that it returns, and the check of a frame.
//
// A Transport carries frames, which are bytes to it. In a round, one frame crosses every link on which one is
// due: all links, in both directions, where nodes gossip, and one level of a tree in a sum, a broadcast or a
// gather. A frame is a header of six bytes, the code of the message, and a checksum. The checksum is a
// CRC-32C over both, the run, the sender and the number of the frame along its link. At most two frames are
// under way along a link: a node sends the third after an answer to the first.
//
// The network returns a PeerError for a frame that differs from the frame that is due, and for numbers that
// are not finite. An error ends the network at this node; its neighbours find it closed.
package transport
