//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package scratch

import "os"

func checkFolder(string, int) error      { return nil }
func allocate(f *os.File, n int64) error { return fill(f, n) }
func sequential([]byte)                  {}
func ahead([]byte)                       {}
func scattered([]byte, bool)             {}
