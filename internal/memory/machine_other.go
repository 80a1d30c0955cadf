//go:build !linux

package memory

import "math"

// machine does not know about systems other than Linux.
func machine() (bytes float64, of string, known bool) { return 0, "", false }

// addresses knows of no limit.
func addresses() float64 { return math.Inf(1) }
