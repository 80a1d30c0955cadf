//go:build !js

package main

import (
	"os/signal"
	"syscall"
)

// ignoreBrokenPipes lets the process go on when whoever reads its log has been killed.
func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }
