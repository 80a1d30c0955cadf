package private

import (
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/internal/noise"
)

// Fix makes the noise of a test the same in every run.
func (a *Account) Fix(seed int) {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	a.noise = func() int64 { return int64(math.Round(rng.NormFloat64() * noise.Deviation)) }
}
