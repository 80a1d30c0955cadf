//go:build !linux

package memory

// machine does not know about systems other than Linux.
func machine() (bytes float64, known bool) { return 0, false }
