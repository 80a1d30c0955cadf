// Package openblas computes a chunk of tasks of the kernel in one call to C over OpenBLAS and LAPACK, and
// puts OpenBLAS below gonum. It belongs to builds with -tags openblas only; other builds do not need cgo.
// Package kernel imports it; no other package should.
//
// The build needs a C compiler, OpenBLAS and, on Linux, LAPACKE; CONTRIBUTING.md names the packages. For
// libraries elsewhere set CGO_CFLAGS and CGO_LDFLAGS, for instance
//
//	CGO_CFLAGS=-I/opt/openblas/include CGO_LDFLAGS=-L/opt/openblas/lib go build -tags openblas ./...
//
// An OpenBLAS that is older than the processor may not detect it and then runs code of 2004, without AVX:
// difalt info shows "Prescott". The variable OPENBLAS_CORETYPE names a better one, such as Haswell or
// SkylakeX.
package openblas
