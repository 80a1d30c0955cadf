// Package bench holds the benchmarks of the kernel:
//
//	go test -bench . ./bench                        all, without the shape of 1 GB
//	go test -bench Iteration/shape=wide ./bench -args -wide
//
// Names are made for benchstat: shape=paper1/storage=f64/kernel=avx512/workers=2. These are the metrics:
//
//	GFLOP/s  useful floating-point operations
//	GB/s     bytes of X, each counted once an iteration
//	%read    time of a streaming read of as many bytes, measured before and after in the same process,
//	         over the time of the iteration
//	%fma     GFLOP/s over the peak of fused multiply-adds with as many workers
//	%roof    the larger of the two: the share of the roofline
//
// DIFALT_KERNEL selects another kernel. bench/peers compares with other languages and libraries.
package bench
