// Package programs has programs that embed the library, as people outside wrote them, in its tests: a stream
// of regressions, a Kalman filter, alternating least squares, statistics, a service over HTTP, nodes over
// HTTP, and a dense layer in float32. Each compares its result with an independent computation.
package programs
