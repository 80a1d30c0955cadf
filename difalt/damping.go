package difalt

import (
	"math"

	"github.com/difalt/difalt/kernel"
)

// damping sets the step of a node between a sixteenth of the one asked for and all
// of it. Where a step of s multiplies what is peculiar to a node's samples by more
// than the rounds of an iteration contract, the nodes overshoot: errors change sign
// in every iteration, and U_g moves to and fro. Where the step is short, U_g moves on
// and on the same way. So the angle between two moves of U_g tells which, long before
// anything diverges: the step is cut when they point against each other, and grows
// back when they agree. Each node looks at its own U_g alone, so the rule needs no
// communication.
type damping struct {
	factor float64   // of the step, from 1 down to leastFactor
	move   []float64 // of U_g in the iteration before
	length float64   // of that move
}

const (
	leastFactor = 1. / 16
	cut, grow   = 0.85, 1.1 // in an iteration
	// The step is cut when the cosine of two moves is below opposite. Independent
	// rounding of U_g gives -1/2.
	opposite = -0.6
	// Below this, moves are rounding.
	negligible = 1e-12
)

func newDamping(entries int) damping {
	return damping{factor: 1, move: make([]float64, entries)}
}

// observe takes U_g of before and after an iteration.
func (d *damping) observe(before, after *kernel.Basis) {
	squares, product := 0.0, 0.0
	old := before.Data()
	for k, x := range after.Data() {
		m := x - old[k]
		squares += m * m
		product += m * d.move[k]
		d.move[k] = m
	}
	length, previous := math.Sqrt(squares), d.length
	d.length = length
	if previous == 0 || length < negligible {
		return
	}
	switch cosine := product / (length * previous); {
	case cosine < opposite:
		d.factor = max(d.factor*cut, leastFactor)
	case cosine > 0:
		d.factor = min(d.factor*grow, 1)
	}
}

func (d *damping) state(a *archive) {
	carry(a, &d.factor)
	carry(a, &d.length)
	a.floats("a move", d.move)
}

// move returns the Frobenius distance of two bases.
func move(u, v *kernel.Basis) float64 {
	var sums [4]float64 // that do not wait for one another; rows are padded to a multiple of 8
	x, y := u.Data(), v.Data()
	for k := 0; k+4 <= len(x); k += 4 {
		a, b := x[k:k+4:k+4], y[k:k+4:k+4]
		for j := range sums {
			sums[j] += (a[j] - b[j]) * (a[j] - b[j])
		}
	}
	return math.Sqrt(sums[0] + sums[1] + sums[2] + sums[3])
}
