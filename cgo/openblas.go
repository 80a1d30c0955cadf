//go:build openblas

package openblas

/*
#cgo CFLAGS: -O2
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
	"math"
	"sync"
	"unsafe"

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
	setThreads(1)
}

// A singleThread limits OpenBLAS, whose number of threads is that of the process, to one
// thread while steps run. The kernel runs one chunk of tasks a thread, and threads inside
// each operation would only be in their way.
type singleThread struct {
	sync.Mutex
	steps, before int
}

var single singleThread

func (s *singleThread) begin() {
	s.Lock()
	defer s.Unlock()
	if s.steps == 0 {
		s.before = threads()
		setThreads(1)
	}
	s.steps++
}

// end lets OpenBLAS have as many threads as before the first step began.
func (s *singleThread) end() {
	s.Lock()
	defer s.Unlock()
	if s.steps--; s.steps == 0 {
		setThreads(s.before)
	}
}

func threads() int { return int(C.openblas_get_num_threads()) }

func setThreads(n int) {
	if n != threads() {
		C.openblas_set_num_threads(C.int(n))
	}
}

// Version returns the version and build options of the OpenBLAS library and the
// processor that it found, for instance
// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64".
func Version() string { return C.GoString(C.openblas_get_config()) }

const (
	badShape = "openblas: dimension out of range"
	badRidge = "openblas: ridge must be finite and not negative"
	short    = "openblas: slice too short"
)

// WorkLen returns the number of entries of Tasks.Work for tasks of up to maxRows
// samples of stride ldx and a basis of r columns.
func WorkLen(maxRows, ldx, r int) int {
	return int(C.difalt_work(C.ptrdiff_t(maxRows), C.ptrdiff_t(ldx), C.ptrdiff_t(r)))
}

// Tasks are a run of tasks of one chunk for Step. All slices belong to the caller; Step writes B,
// Grad, Objective and Work. After the first call only their entries may change.
type Tasks struct {
	X64 []float64 // samples of all tasks in rows, if X32 is nil
	X32 []float32
	Ldx int // row stride of X64 or X32
	Y   []float64

	Fit, Gradient Rows // samples of the least squares, and of the gradient
	MaxRows       int  // largest number of them in a task

	U         blas64.GeneralCols // basis, d x r
	B         []float64          // coefficients of task t in B[t*r : (t+1)*r]
	Grad      blas64.GeneralCols // gradient, d x r
	Objective float64            // sum of the squared residuals

	Ridge float64
	Work  []float64 // WorkLen(MaxRows, Ldx, r) entries

	lo, hi int // the tasks that check has seen
}

// Rows are the samples of tasks: Count[t] rows of X and Y from First[t] on.
type Rows struct{ First, Count []int }

// Step does for tasks lo, lo+1, ... below hi
//
//	b_t       = argmin |X_t U b - y_t|^2 + ridge |b|^2
//	Grad      += X_t' (X_t U b_t - y_t) b_t'
//	Objective += |X_t U b_t - y_t|^2
//
// (Alg. 3, lines 7 to 11), and stops at the first task whose least squares has fewer equations than unknowns,
// nearly dependent columns, or numbers that overflow or are not finite: package lsq solves that one. Step
// returns the task at which it stopped, or hi. A call for the tasks behind it does not check the shapes
// again. Step does not allocate. OpenBLAS has one thread during a Step; its number of threads is restored
// after the last one.
func (s *Tasks) Step(lo, hi int) (next int) {
	if s.hi == 0 || lo < s.lo || hi > s.hi {
		s.check(lo, hi)
		s.lo, s.hi = lo, hi
	}
	if lo == hi {
		return lo
	}
	args := C.difalt_args{
		y:          doubles(s.Y),
		fit_first:  ints(s.Fit.First),
		fit_rows:   ints(s.Fit.Count),
		grad_first: ints(s.Gradient.First),
		grad_rows:  ints(s.Gradient.Count),
		u:          doubles(s.U.Data),
		b:          doubles(s.B),
		grad:       doubles(s.Grad.Data),
		work:       doubles(s.Work),
		ridge:      C.double(s.Ridge),
		ldx:        C.ptrdiff_t(s.Ldx),
		d:          C.int(s.U.Rows),
		r:          C.int(s.U.Cols),
		ldu:        C.int(s.U.Stride),
		ldg:        C.int(s.Grad.Stride),
		max_rows:   C.int(max(s.MaxRows, 1)),
	}
	if s.X32 == nil {
		args.x64 = doubles(s.X64)
	} else {
		args.x32 = (*C.float)(unsafe.SliceData(s.X32))
	}
	single.begin()
	result := C.difalt_step(args, C.ptrdiff_t(lo), C.ptrdiff_t(hi))
	single.end()
	s.Objective += float64(result.objective)
	return int(result.next)
}

// check panics unless C will stay inside the slices.
func (s *Tasks) check(lo, hi int) {
	const limit = math.MaxInt32
	d, r := s.U.Rows, s.U.Cols
	if d <= 0 || r <= 0 || d > min(s.Ldx, s.U.Stride, s.Grad.Stride) || s.Grad.Rows != d || s.Grad.Cols != r ||
		s.MaxRows < 0 || s.MaxRows+r > limit || max(s.Ldx, s.U.Stride, s.Grad.Stride) > limit {
		panic(badShape)
	}
	if !(s.Ridge >= 0) || math.IsInf(s.Ridge, 0) {
		panic(badRidge)
	}
	if lo < 0 || hi < lo || len(s.B) < hi*r || len(s.Work) < WorkLen(max(s.MaxRows, 1), s.Ldx, r) ||
		len(s.U.Data) < (r-1)*s.U.Stride+d || len(s.Grad.Data) < (r-1)*s.Grad.Stride+d {
		panic(short)
	}
	// The last row may end behind its features.
	samples := min((max(len(s.X64), len(s.X32))+s.Ldx-d)/s.Ldx, len(s.Y))
	s.Fit.check(lo, hi, s.MaxRows, samples)
	s.Gradient.check(lo, hi, s.MaxRows, samples)
}

// check panics unless tasks lo to hi have at most the given rows each, and lie within samples rows.
func (r Rows) check(lo, hi, most, samples int) {
	if min(len(r.First), len(r.Count)) < hi {
		panic(short)
	}
	for t := lo; t < hi; t++ {
		first, n := r.First[t], r.Count[t]
		if first < 0 || n < 0 || n > most {
			panic(badShape)
		}
		if first+n > samples {
			panic(short)
		}
	}
}

func doubles(x []float64) *C.double { return (*C.double)(unsafe.SliceData(x)) }

func ints(x []int) *C.ptrdiff_t { return (*C.ptrdiff_t)(unsafe.Pointer(unsafe.SliceData(x))) }
