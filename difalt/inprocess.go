package difalt

import (
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// InProcess returns the problem of nodes with these tasks that all live in this process, and
// their network with Metropolis weights on a graph, which has a vertex for each of them.
func InProcess(nodes []*kernel.Tasks, g *topology.Graph) (*Problem, *consensus.Network, error) {
	weights, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		return nil, nil, err
	}
	net, err := consensus.New(weights, nil)
	return &Problem{Nodes: nodes}, net, err
}
