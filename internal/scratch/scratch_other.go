//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package scratch

import (
	"fmt"
	"runtime"
)

func reserve(string, int) ([]byte, error) {
	return nil, fmt.Errorf("samples can be kept on disk on Linux, macOS and BSD, not on %s", runtime.GOOS)
}

func release([]byte)         {}
func ahead([]byte)           {}
func scattered([]byte, bool) {}
