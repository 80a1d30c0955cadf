// Package processor detects the processor: its features, its caches and its name. The build tag noasm of
// gonum and of cpuid takes the detection out of cpuid, although our assembly stays; for amd64 it is written
// here a second time, for that tag only.
package processor

// zen4 is the family of the processors of AMD that compute with 512 bits in two steps: of Zen 3, which has no
// AVX-512, and of Zen 4.
const zen4 = 25
