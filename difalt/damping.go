package difalt

import (
	"math"

	"github.com/difalt/difalt/kernel"
)

// damping shortens the step of a node that does not settle. A full scaled step
// multiplies what is peculiar to a node's own samples by up to s lambda_g with
// lambda_g = (1 + sqrt(dr/samples))^2; where the rounds of an iteration contract that
// by less, the nodes drive one another around the solution and their U_g keep moving
// by as much in every iteration. A shorter step always mixes in the end, and U_g that
// converges moves less and less, with noise in the data too. Each node looks at its
// own U_g alone, so the rule needs no communication.
type damping struct {
	factor    float64 // of the step, from 1 down to leastFactor
	sum, last float64 // of the moves in this window, and in the one before
	count     int     // iterations in this window
}

const (
	dampingWindow = 8
	// Moves fall at least by this factor from one window to the next, or the step is
	// cut. That is a tenth of the usual rate of convergence.
	sufficient  = 0.75
	leastFactor = 1. / 16
	// Below this, moves are rounding.
	negligible = 1e-12
)

// observe takes the distance by which U_g moved in an iteration.
func (d *damping) observe(move float64) {
	d.sum += move
	if d.count++; d.count < dampingWindow {
		return
	}
	if d.last > 0 && d.sum > max(sufficient*d.last, negligible) {
		d.factor = max(d.factor/2, leastFactor)
	}
	d.last, d.sum, d.count = d.sum, 0, 0
}

// move returns the Frobenius distance of two bases.
func move(u, v *kernel.Basis) float64 {
	sum := 0.0
	w := v.Data()
	for k, x := range u.Data() {
		sum += (x - w[k]) * (x - w[k])
	}
	return math.Sqrt(sum)
}
