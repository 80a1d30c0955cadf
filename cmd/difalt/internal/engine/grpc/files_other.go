//go:build !unix

package grpc

import "math"

// mostFiles returns the number of files that this process may open, which these systems do not limit.
func mostFiles() int { return math.MaxInt32 }
