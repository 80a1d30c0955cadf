//go:build race && unix

package main

// The race detector reserves terabytes of addresses for its shadow memory.
func init() { malformedKB = "unlimited" }
