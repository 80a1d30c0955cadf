// Package grpc is a wire.Transport between processes on machines of different
// owners: one node a process, one bidirectional gRPC stream an edge, over TLS 1.3.
//
// A [cluster.Cluster], read from cluster.json, is the list of the nodes, of their addresses and
// of their keys, and the graph: who is not in it is refused during the TLS handshake,
// and who is, but has no edge with this node, before a frame is read. Keys are those of the list, or
// certified by the authority that it names; there is no mode without encryption or without keys.
//
// Of two neighbours the one with the higher number dials, again and again until it gets
// through or the time to join is over. Both say by a list of [wire.Setting] what they are about
// to do, and refuse each other by the name of what differs. A connection that breaks is
// made again, and the frames that the other end has not seen are sent again: at most
// two, since no node is more than a round ahead of its neighbours.
//
// A node that leaves says so, and why. Its neighbours pass that on, so that every node
// ends with a *wire.PeerError that names the node at which the trouble began, and who says so.
//
// Strangers can keep some connections, a member one beside that of its edge, and neither of them
// much memory or a round for ever: see docs/network.md.
package grpc
