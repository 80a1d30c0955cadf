package blas

import (
	"sync/atomic"
	"time"

	"github.com/difalt/difalt/internal/workers"
)

// ended is the time at which the last job ended.
var (
	ended   atomic.Int64
	started = time.Now()
)

// inTurn calls part for all i below parts on several threads. A helper that comes late finds nothing left to
// do. Of small jobs the first one wakes no helper; those that follow soon after another job do.
func inTurn(threads, parts int, small bool, part func(i int)) {
	if soon := time.Since(started) - time.Duration(ended.Load()); small && soon > 2*workers.Linger {
		threads = 1
	}
	workers.NewJob(parts, partEnded).Run(threads-1, part)
	ended.Store(int64(time.Since(started)))
}

// partEnded is the panic of a part that ended its goroutine.
const partEnded = "blas: a part ended its goroutine"
