//go:build openblas

package openblas

/*
#cgo linux CFLAGS: -I/usr/include/openblas
#cgo darwin CFLAGS: -I/opt/homebrew/opt/openblas/include -I/usr/local/opt/openblas/include
#cgo linux LDFLAGS: -llapacke -lopenblas -lm
#cgo darwin LDFLAGS: -L/opt/homebrew/opt/openblas/lib -L/usr/local/opt/openblas/lib -lopenblas
#cgo !linux,!darwin LDFLAGS: -lopenblas

void openblas_set_num_threads(int);
int openblas_get_num_threads(void);
char *openblas_get_config(void);
*/
import "C"

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
	lapacknetlib "gonum.org/v1/netlib/lapack/netlib"
)

// Use registers OpenBLAS with gonum's blas64 and lapack64 for the whole program, and limits OpenBLAS to one
// thread for good: gonum's callers have goroutines of their own.
func Use() {
	blas64.Use(blasnetlib.Implementation{})
	lapack64.Use(lapacknetlib.Implementation{})
	C.openblas_set_num_threads(1)
}

// Threads returns the number of threads of OpenBLAS.
func Threads() int { return int(C.openblas_get_num_threads()) }

// Version returns the version and build options of the OpenBLAS library and the
// processor that it found, for instance
// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64".
func Version() string { return C.GoString(C.openblas_get_config()) }
