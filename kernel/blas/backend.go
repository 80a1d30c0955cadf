package blas

// OpenBLAS is what the environment variable DIFALT_KERNEL says to have every shape
// done by OpenBLAS. Builds with -tags openblas obey.
const OpenBLAS = "openblas"
