//go:build !linux

package check

// reserve has nothing to reserve a port with: port 0 is any free one, and a port that nobody listens at any
// more may become another program's.
func reserve(string) (port int, release func(), err error) { return 0, func() {}, nil }
