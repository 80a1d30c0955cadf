package blas

// Registered is what Use registers, for calls as users make them.
type Registered = routines
