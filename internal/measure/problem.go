package measure

import (
	"context"
	"math"

	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
)

// A Problem is seeded data of a shape, and a random orthonormal start U that is not U*, so
// that the gradient does not vanish. Entries of X_t are float32, so that both storages
// hold the same numbers.
type Problem struct {
	Shape
	U      *kernel.Basis // where the iteration is taken
	Source *synth.Source
}

// NewProblem returns the problem of a shape and seed.
func NewProblem(s Shape, seed uint64) *Problem {
	data := synth.Data{Features: s.Features, Tasks: s.Tasks, Samples: s.Samples, Rank: s.Rank, Single: true}
	return &Problem{s, synth.Orthonormal(s.Features, s.Rank, synth.Stream(seed, math.MaxUint64)), data.Source(seed)}
}

// Pack draws all tasks into the kernel's layout, dealt out to a number of nodes in
// runs of equal length.
func (p *Problem) Pack(nodes int, storage kernel.Storage) []*kernel.Tasks {
	packed := make([]*kernel.Tasks, nodes)
	for g := range packed {
		packed[g], _ = p.Source.Pack(context.Background(), p.Tasks*g/nodes, p.Tasks*(g+1)/nodes, storage) // in memory it cannot fail
	}
	return packed
}
