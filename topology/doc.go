// Package topology describes who may talk to whom: graphs, and mixing weights with
// their spectrum. How nodes then talk is package consensus.
//
//	g, err := topology.Parse("er:0.5", 20, seed)          // who is linked
//	w, err := topology.NewWeights(g, topology.Metropolis) // how neighbours are weighted
//
// Nodes are numbered from 0. Graphs and weights are immutable once made and safe
// to share between goroutines.
package topology
