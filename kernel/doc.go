// Package kernel computes the steps of one node of Dif-AltGDmin: for many small linear regressions
// y_t = X_t U b_t with one basis U (d x r), it solves the least squares of every task and accumulates the
// gradient with respect to U. It has no notion of nodes, networks or files. To fit U as well, start with
// difalt.Fit. An algorithm of another kind starts here:
//
//	tasks, err := kernel.NewTasks(x, y)                // copies; see also View and NewBuilder
//
//	g := kernel.NewGroup(tasks, r)                     // results of one node
//	ws := kernel.NewWorkspace(g)                       // scratch memory
//	u := kernel.NewBasis(d, r)                         // fill u.Col(j)
//	rr, work := make([]float64, r*r), make([]float64, qr.WorkLen(r))
//	for ... {
//		g.Step(u, ridge, ws)                           // g.B, g.Grad, g.Status, g.Objective
//		// u.Data() -= step * g.Grad.Data()
//		u.Orthonormalize(rr, work)                     // u becomes Q of its QR
//	}
//
// An Executor steps many groups on a Pool of workers. Only constructors and functions that return a new Basis
// or Tasks allocate. Scratch memory (a Workspace, work) may be nil: it is then allocated. Subpackages lsq and
// qr offer the factorisations alone, and blas puts the products below gonum.
//
// LAPACK and BLAS by their names:
//
//	geqrf and orgqr (thin Q, and R)    qr.Factor, Basis.Orthonormalize
//	geqrf alone; tpqrt (new rows)      qr.R; qr.Update
//	gels; gelsy, gelss (rank, rcond)   lsq.Solve
//	gels of a batch                    lsq.Batch.Solve
//	gels of all tasks                  Group.Minimize
//	gonum's blas64 and lapack64        blas.Implementation, blas.Lapack, blas.Use
//
// Ownership: Tasks are immutable and may be shared. A Group owns its results; a Workspace and a Pool serve
// one call at a time; a Basis belongs to its maker. No call keeps a reference to its arguments, except View
// to x and y, NewGroup to tasks, WithResponses to responses, and NewExecutor to pool and
// groups. Close a Pool after its last use.
//
// Storage: samples are float64 or float32; arithmetic is float64 for both. Rows of samples and columns of
// bases are padded with zeros to multiples of 8 numbers.
//
// Determinism: equal data give equal bits for any number of workers and any placement in memory. All
// processors with AVX2, AVX-512 or NEON give equal bits, but for the few cases that docs/kernel.md lists.
// Portable Go and other backends differ by rounding.
//
// Tiers: the loops are written in assembly for AVX2 with FMA, AVX-512 and NEON, and in Go for all other
// processors; the features of the processor choose. The speed of NEON was never measured on an arm64
// processor. The environment variable DIFALT_KERNEL = generic, avx2, avx512 or neon forces a tier when the
// program starts. The build tag noasm is gonum's, and changes no tier. CheckEnvironment reports a name that
// is not available, and Describe the tier in use. The build tag purego leaves out all assembly.
//
// Backends: the tiles compute the steps in every build. DIFALT_KERNEL=gonum computes them with gonum's blas64
// and lapack64 instead, operation by operation: the specification, and the reference of the tests. The build
// tag openblas links OpenBLAS: Use of package kernel/blas puts it below gonum. DIFALT_KERNEL=openblas, the
// default where the processor has no tiles in assembly, computes the steps with it, one call a chunk.
// OpenBLAS then has one thread for the whole program.
//
// Errors: a wrong shape, stride or length, and a nil argument that is not scratch memory, panics with a
// constant message. A task whose least squares has no unique solution gets the solution of minimum norm and a
// status, and its coefficients never hold NaN. The caller refuses NaN in the data.
//
// References to algorithms and lines are to D. Kang and S. Moothedath, "Diffusion-based Decentralized
// Federated Multi-Task Representation Learning", arXiv:2512.23161, 2025.
package kernel
