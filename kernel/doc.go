// Package kernel does the arithmetic of one node of Dif-AltGDmin: for many small
// linear regressions y_t = X_t U b_t with one basis U (d x r), it solves the least
// squares of every task and accumulates the gradient with respect to U. It knows
// nothing of nodes, networks or files.
//
//	b := kernel.NewBuilder(d, samples, kernel.Float64) // samples[t] rows in task t
//	b.SetTask(t, x, y)                                 // or b.SetRow: copied
//	tasks := b.Tasks()                                 // immutable from here on
//
//	g := kernel.NewGroup(tasks, r)                     // results of one node
//	ws := kernel.NewWorkspace(tasks.MaxSamples(), d, r)
//	u := kernel.NewBasis(d, r)                         // fill u.Col(j)
//	rr, work := make([]float64, r*r), make([]float64, qr.WorkLen(r))
//	for ... {
//		g.Step(u, ridge, ws)                           // g.B, g.Grad, g.Status, g.Objective
//		// u.Data() -= step * g.Grad.Data()
//		u.Orthonormalize(rr, work)                     // u becomes Q of its QR
//	}
//
// An Executor steps many groups on a Pool of workers. Only constructors and functions that return
// a new Basis or Tasks allocate. Scratch memory (a Workspace, work) may be nil: it is
// allocated then. Subpackages lsq, qr and eigen offer the factorisations on their own,
// and blas the products.
//
// Ownership: Tasks is immutable and may be shared. A Group owns its results, a
// Workspace and a Pool serve one call at a time, a Basis belongs to its maker. No
// call keeps a reference to its arguments, except NewGroup and SetSamples to tasks,
// WithResponses to responses, and NewExecutor to pool and groups. Close a Pool to end its goroutines.
//
// Storage: samples are float64 or float32; arithmetic is float64 for both. A Group that
// Reduce reduced iterates on 16 bits of them, and ends with the same result. Rows of
// samples and columns of bases are padded with zeros to multiples of 64 bytes (32
// for float32), and entries beyond the d of a column must stay zero.
//
// Determinism: the same data give the same bits for any number of workers and
// any placement in memory. CPU tiers and builds differ by rounding.
//
// Tiers: the loops are written in assembly for AVX2 with FMA, AVX-512 and NEON,
// chosen by the features of the processor, and in Go for everything else. The environment
// variable DIFALT_KERNEL = generic, avx2, avx512 or neon forces one when the program starts; Err
// reports a choice that is not available, Info the one in use. The build tag purego leaves out all
// assembly.
//
// Backends: the tiles compute the steps in every build. DIFALT_KERNEL=gonum computes them with
// gonum's blas64 and lapack64 instead, operation by operation: the specification and the reference
// of the tests, and, with another BLAS registered there, a backend over that. The build tag openblas
// links OpenBLAS: it computes the steps where the processor has no tiles in assembly, or with
// DIFALT_KERNEL=openblas, and gives it to gonum's matrices by UseBLAS.
//
// Schedules: how far ahead the tiles ask memory for samples is measured by an Executor in
// its first steps, and changes no bit. DIFALT_SCHEDULE forces one; see Executor.Schedule.
//
// OpenBLAS has one number of threads for a whole process. While it computes steps it is held to one;
// afterwards the number is what it was before. A program that sets it meanwhile loses its setting.
//
// Misuse (a wrong shape, stride or length) panics with a constant message. A
// singular task gets the minimum-norm solution and a status, never NaN; NaN in the
// data is for the caller to refuse.
//
// LAPACK and BLAS by their names:
//
//	geqrf and orgqr (thin Q, and R)    qr.Factor, Basis.Orthonormalize
//	gels, gelsy (minimum norm)         lsq.Solve
//	gels of a batch                    Group.Minimize
//	syevx (largest eigenvalue)         eigen.Largest
//	gemm 'T','N'; 'N','T'; 'N','N'     blas.MulTN, AddMulNT, MulNN
//	gemv 'N'; dot; axpy                blas.MulVec, Dot, Axpy
//	all of gonum's blas64, lapack64    blas.Implementation, blas.Lapack, by blas.Use
//
// References to algorithms and lines are to Kang and Moothedath, "Diffusion-based
// Decentralized Federated Multi-Task Representation Learning".
package kernel
