// Package work shares loops among the workers of a pool.
package work

import "github.com/difalt/difalt/kernel"

// For calls f(0), ..., f(n-1) on all workers of a pool, and returns when all calls have returned.
func For(pool *kernel.Pool, n int, f func(i int)) { pool.Run(Loop(pool.Workers(), n, f)) }

// Loop returns the function of every worker in For, which a caller can store: Pool.Run then does not
// allocate.
func Loop(workers, n int, f func(i int)) func(worker int) {
	return func(worker int) {
		for i := worker; i < n; i += workers {
			f(i)
		}
	}
}
