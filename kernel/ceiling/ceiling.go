// Package ceiling measures what this machine can do at most, with the tier in use:
// the rates against which package bench sets the kernel. The streaming read of the
// samples themselves is the method Sweep of kernel.Tasks.
package ceiling

import "github.com/difalt/difalt/internal/tile"

// MultiplyAdd does the given number of rounds of independent multiply-adds in
// registers and returns how many floating-point operations that were, two for
// each multiply-add. Their rate is the arithmetic peak of one core.
func MultiplyAdd(rounds int) (flops float64) { return tile.FMAPeak(rounds) }
