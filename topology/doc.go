// Package topology describes who may talk to whom, and carries out the talking:
// graphs, mixing weights with their spectral gap, and the mixers that average the
// messages of neighbouring nodes.
//
// A run over a network takes three of its steps here:
//
//	g, err := topology.Parse("er:0.5", 20, seed)          // who is linked
//	w, err := topology.NewWeights(g, topology.Metropolis) // how neighbours are weighted
//	m := topology.NewLocal(w, pool)                       // all nodes in this process
//
// What nodes send can be made smaller, rarer and more effective, and links may fail,
// in any combination that settles, by
//
//	m, err := topology.NewMixer(w, pool, topology.Agreement{Compressor: c})
//
// Nodes are numbered from 0. Graphs and weights are immutable once made and safe
// to share between goroutines; a mixer serves one goroutine at a time.
package topology
