package blas

import "time"

// Registered and RegisteredLapack are what Use registers, for calls as users make them.
type (
	Registered       = routines
	RegisteredLapack = solvers
)

// HelpBrief gives all brief computations helpers, until restore.
func HelpBrief() (restore func()) {
	helped = func(int, int) bool { return true }
	return func() { helped = awake }
}

// CountBrief counts the brief computations that ask whether they have helpers, and have none, until the
// function that it returns is called.
func CountBrief(count *int) func() {
	helped = func(int, int) bool {
		*count++
		return false
	}
	return func() { helped = awake }
}

// IsSoon is isSoon for products of a number of multiplications, in their own sizes.
func IsSoon(after time.Duration, multiplications int) bool {
	return isSoon(after, multiplications, tune().products.always)
}
