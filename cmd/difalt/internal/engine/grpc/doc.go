// Package grpc implements transport.Transport between processes of different owners: one node a process, one
// bidirectional gRPC stream an edge, over TLS 1.3.
//
// A [cluster.Cluster], read from cluster.json, lists nodes, addresses, keys and edges. The TLS handshake
// refuses everybody that is not in the list; a node without an edge to this one is refused before it can send
// a frame. Encryption and keys cannot be switched off.
//
// The neighbour with the higher index dials, repeatedly, until it is connected or the time to join is over.
// Both ends send their [consensus.Setting] list and refuse each other if a setting differs. A broken
// connection is made again, and frames that the other end has not received are sent again: at most two,
// since no node is more than one round ahead of its neighbours. A restarted process cannot enter a running
// training.
//
// A node that leaves sends its reason to its neighbours, and these pass it on: every node ends with a
// *transport.PeerError that names the node where the failure began and the nodes that reported it.
//
// Unauthenticated connections are limited in number, and a node without use for its connection has one at
// most. Neither can make this node use much memory or wait for ever.
package grpc
