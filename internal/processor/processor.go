// Package processor detects the processor: its features, its caches and its name. The build tag noasm of
// gonum and of cpuid takes the detection out of cpuid, although our assembly stays; for amd64 it is written
// here a second time, for that tag only.
package processor
