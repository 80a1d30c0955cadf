package blas

// Registered is what Use registers, for calls as users make them.
type Registered = routines

// HelpBrief gives all brief computations helpers, until restore.
func HelpBrief() (restore func()) {
	helped = func() bool { return true }
	return func() { helped = awake }
}
