// Package bench holds the benchmarks of the kernel:
//
//	go test -bench . ./bench                        all, without the shape of 1 GB
//	go test -bench Iteration/shape=wide ./bench -args -wide
//
// Names are made for benchstat: shape=paper1/storage=float64/kernel=avx512/workers=2. The header has the
// caches, the kernel and the load of the machine: above a load of about 0.1 the numbers mean little. These
// are the metrics; what is compared takes turns in one process:
//
//	GFLOP/s       useful floating-point operations
//	peak-GFLOP/s  the peak of fused multiply-adds with as many workers
//	GB/s          bytes of X, each counted once an iteration
//	read-GB/s     a streaming read of as many bytes by as many workers
//	%fma, %read   the shares of these two ceilings
//	%roof         the larger share: the share of the roofline. A question mark behind a share above 105 %
//	              means that the ceiling was not one, as on a busy machine
//	xgonum        time of this work with gonum's blas64 and lapack64, over ours
//
// DIFALT_KERNEL selects another kernel. bench/peers compares with other languages and libraries.
package bench
