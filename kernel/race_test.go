//go:build race

package kernel

// raceDetector reports whether the race detector runs: it allocates.
const raceDetector = true
