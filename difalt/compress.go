package difalt

import "github.com/difalt/difalt/kernel"

const (
	// A run is assumed to take at least shortRun iterations.
	shortRun = 100
	// Compressing tasks takes the time of about compressSteps d/r steps.
	compressSteps = 1.5
)

// compressed returns the tasks of a node with at most d+1 rows each (kernel.Tasks.Compressed). It returns
// the tasks themselves if steps on compressed tasks save less time in a short run than compressing takes.
// That depends on the data of the node alone. The results of steps agree to rounding.
func compressed(k *kernel.Tasks, rank int) *kernel.Tasks {
	d, rows := k.Features(), 0
	for t := range k.Len() {
		rows += min(k.Samples(t), d+1)
	}
	saved := 1 - float64(rows)/float64(max(k.TotalSamples(), 1))
	if shortRun*saved < compressSteps*float64(d)/float64(rank) {
		return k
	}
	return k.Compressed()
}
