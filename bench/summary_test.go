package bench

import (
	"fmt"
	"io"
	"os"
	"testing"
	"text/tabwriter"

	"github.com/difalt/difalt/kernel"
)

// A share is what BenchmarkIteration says of one of its cases.
type share struct {
	shape, storage string
	workers        int
	read, fma      float64 // of what reading and arithmetic alone would take, in per cent
}

// shares are those of this process, the last of each case.
var shares []share

func (s share) same(o share) bool {
	return s.shape == o.shape && s.storage == o.storage && s.workers == o.workers
}

func keep(s share) {
	for i, o := range shares {
		if s.same(o) {
			shares[i] = s
			return
		}
	}
	shares = append(shares, s)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && len(shares) > 0 {
		summarize(os.Stdout, kernel.Describe(), shares)
	}
	os.Exit(code)
}

// summarize says what the numbers of BenchmarkIteration mean.
func summarize(w io.Writer, info kernel.Description, shares []share) {
	fmt.Fprintf(w, "\nWhat this means, on %s (kernel %s). No iteration takes less time than reading the samples once,\n"+
		"nor than its arithmetic at the peak of multiply-adds; both were measured in the same turns.\n\n", info.CPU, info.Kernel)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "shape\tstorage\tworkers\tshare of the limit\tthe limit")
	for _, s := range shares {
		limit := "memory"
		if s.fma > s.read {
			limit = "arithmetic"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%.0f %%\t%s\n", s.shape, s.storage, s.workers, max(s.read, s.fma), limit)
	}
	table.Flush()
	fmt.Fprintf(w, "\nBENCHMARKS.md has the shares of other machines. \"make benchmarks\" measures C, C++, Python and others here side by side\n"+
		"and adds this machine to that page: a pull request with its new file in bench/results is welcome.\n")
}
