package main

import "github.com/difalt/difalt/kernel"

// Numbers of threads and of starts beyond which no machine and no table has use for more.
const (
	maxWorkers = kernel.MaxWorkers
	maxStarts  = 10_000
)

// checkSizes refuses sizes that a fit on so many rows could only fail with.
func checkSizes(folds, starts, workers, rows int) error {
	for _, c := range []struct {
		name        string
		value, most int
		why         string
	}{
		{"folds", folds, max(rows, 100), " for so few rows"}, // the default is no mistake
		{"starts", starts, maxStarts, ""},
		{"workers", workers, maxWorkers, ""},
	} {
		if c.value > c.most {
			return usagef("--%s is %d: want at most %d%s", c.name, c.value, c.most, c.why)
		}
	}
	return nil
}
