// Package ceiling measures what this machine can do at most, with the tier in use:
// the rates against which package bench sets the kernel.
package ceiling

import "github.com/difalt/difalt/kernel/internal/tile"

// Read returns the sum of x. It does nothing but read memory once, in one stream:
// an iteration cannot take less time than Read of as many bytes as the samples
// have, since the samples have to come from memory once.
func Read(x []float64) float64 { return tile.ReadSum(x) }

// Read4 is Read in four streams, each through a quarter of x. Which of the two is
// faster depends on the machine: the ceiling is the better one.
func Read4(x []float64) float64 { return tile.ReadSum4(x) }

// MultiplyAdd does the given number of rounds of independent multiply-adds in
// registers and returns how many floating-point operations that were, two for
// each multiply-add. Their rate is the arithmetic peak of one core.
func MultiplyAdd(rounds int) (flops float64) { return tile.FMAPeak(rounds) }
