//go:build openblas

package openblas

/*
#cgo CFLAGS: -O3
#cgo linux CFLAGS: -I/usr/include/openblas
#cgo darwin CFLAGS: -I/opt/homebrew/opt/openblas/include -I/usr/local/opt/openblas/include
#cgo linux LDFLAGS: -llapacke -lopenblas -lm
#cgo darwin LDFLAGS: -L/opt/homebrew/opt/openblas/lib -L/usr/local/opt/openblas/lib -lopenblas
#cgo !linux,!darwin LDFLAGS: -lopenblas
#include "step.h"

void openblas_set_num_threads(int);
int openblas_get_num_threads(void);
char *openblas_get_config(void);
*/
import "C"

import (
	"unsafe"

	"gonum.org/v1/gonum/blas/blas64"
)

// SingleThread limits OpenBLAS, which has one number of threads in a process, to one thread.
func SingleThread() { C.openblas_set_num_threads(1) }

// Threads returns the number of threads that OpenBLAS takes.
func Threads() int { return int(C.openblas_get_num_threads()) }

// Version returns the version and build options of the OpenBLAS library and the processor that it found. An
// example is "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64".
func Version() string { return C.GoString(C.openblas_get_config()) }

// WorkLen returns the number of entries of Tasks.Work for tasks of up to maxRows
// samples of stride ldx and a basis of r columns.
func WorkLen(maxRows, ldx, r int) int {
	return int(C.difalt_work(C.ptrdiff_t(maxRows), C.ptrdiff_t(ldx), C.ptrdiff_t(r)))
}

// Tasks are tasks for Step. All slices belong to the caller; Step writes B, Status, Grad and Work.
type Tasks struct {
	X64 []float64 // samples of all tasks in rows, if X32 is nil
	X32 []float32
	Ldx int // row stride of X64 or X32
	Y   []float64

	// Task t has Count[t] rows of X and Y from First[t] on. Original, if it is not nil, has the number of
	// samples that the rows of each task were computed from. It sets the tolerance of the rank.
	First, Count, Original []int
	MaxRows                int // at least the largest number of rows of a task, and 1

	U      blas64.GeneralCols // basis, d x r
	B      []float64          // coefficients of task t in B[t*r : (t+1)*r]
	Status *uint8             // status of task 0, followed by the next tasks: 0, or Left
	Grad   blas64.GeneralCols // gradient, d x r
	Ridge  float64
	Work   []float64 // WorkLen(MaxRows, Ldx, r) entries
}

// Left is the status of a task that Step leaves alone.
const Left = C.DIFALT_LEFT

// Step does Alg. 3, lines 7 to 11, for tasks lo to hi-1 and returns the sum of their squared residuals. It
// leaves alone tasks whose least squares has fewer equations than unknowns, nearly dependent columns, or
// numbers that overflow or are not finite: package leastsq solves these. Package kernel passes valid shapes.
// Step does not allocate.
func (s *Tasks) Step(lo, hi int) (objective float64) {
	args := C.difalt_args{
		x64: doubles(s.X64), x32: (*C.float)(unsafe.SliceData(s.X32)), y: doubles(s.Y),
		first: ints(s.First), rows: ints(s.Count), original: ints(s.Original),
		u: doubles(s.U.Data), b: doubles(s.B), status: (*C.uchar)(s.Status),
		grad: doubles(s.Grad.Data), work: doubles(s.Work),
		ridge: C.double(s.Ridge), ldx: C.int(s.Ldx), d: C.int(s.U.Rows), r: C.int(s.U.Cols),
		ldu: C.int(s.U.Stride), ldg: C.int(s.Grad.Stride), max_rows: C.int(s.MaxRows),
	}
	return float64(C.difalt_step(args, C.ptrdiff_t(lo), C.ptrdiff_t(hi)))
}

func doubles(x []float64) *C.double { return (*C.double)(unsafe.SliceData(x)) }

func ints(x []int) *C.ptrdiff_t { return (*C.ptrdiff_t)(unsafe.Pointer(unsafe.SliceData(x))) }
