package blas

// fallback computes what this package leaves to gonum, with the bits of gonum on amd64.
type fallback = ordered
