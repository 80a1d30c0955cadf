//go:build openblas && linux

package blas_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"github.com/klauspost/cpuid/v2"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/stat"

	_ "github.com/difalt/difalt/cgo" // links OpenBLAS
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
	lapacknetlib "gonum.org/v1/netlib/lapack/netlib"
)

var (
	pages  = flag.String("table", "", "write the table of times between its two markers in `files`, separated by commas; - for the terminal")
	turn   = flag.Duration("turn", 5*time.Millisecond, "time of one implementation's turn")
	budget = flag.Duration("budget", time.Second, "time of all turns of a case")
)

// peers are this package's implementation, gonum's, and OpenBLAS with as many threads as OPENBLAS_NUM_THREADS
// allows.
var peers = []peer{ours, gonum, {"OpenBLAS", blasnetlib.Implementation{}, openBLAS{}, blasnetlib.Implementation{}}}

// openBLAS is LAPACK by OpenBLAS.
type openBLAS struct{ lapacknetlib.Implementation }

// Dgesvd answers a query with the length of work that netlib asks for: newer versions of OpenBLAS need less.
func (o openBLAS) Dgesvd(jobU, jobVT lapack.SVDJob, m, n int, a []float64, lda int, s, u []float64, ldu int, vt []float64, ldvt int, work []float64, lwork int) (ok bool) {
	ok = o.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork)
	if lwork == -1 {
		work[0] = max(work[0], float64(max(3*min(m, n)+max(m, n), 5*min(m, n))))
	}
	return ok
}

// TestTimes prints the times of all cases, as JSON, on as many threads as GOMAXPROCS and OPENBLAS_NUM_THREADS
// say. It does nothing unless TestTable runs it.
func TestTimes(t *testing.T) {
	if os.Getenv("DIFALT_BLAS_TIMES") == "" {
		t.Skip("run by TestTable")
	}
	defer restore()()
	clock, start := processTime, time.Now()
	if runtime.GOMAXPROCS(0) > 1 {
		clock = func() time.Duration { return time.Since(start) }
	}
	times := make(map[string][]float64)
	for _, w := range selected() {
		times[w.name] = w.least(peers, clock, *turn, *budget)
	}
	if err := json.NewEncoder(os.Stdout).Encode(times); err != nil {
		t.Fatal(err)
	}
}

// processTime returns the CPU time of the process.
func processTime() time.Duration {
	const processClock = 2
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, processClock, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}

// cores are the processors that OpenBLAS computes for, by tier: one older than the machine's would choose a
// lesser one.
var cores = map[tile.Tier]string{tile.AVX2: "Haswell", tile.AVX512: "SkylakeX"}

// timesOn runs TestTimes in a process with a number of threads and a CPU tier, and without the variables of
// OpenBLAS that are set, which change its code and its blocks.
func timesOn(t *testing.T, tier tile.Tier, threads int) (times map[string][]float64) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^TestTimes$", "-cases", *chosen, "-turn", turn.String(), "-budget", budget.String())
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OPENBLAS_") })
	c.Env = append(c.Env, "DIFALT_BLAS_TIMES=1", tile.Variable+"="+tier.String(), "OPENBLAS_CORETYPE="+cores[tier],
		fmt.Sprintf("GOMAXPROCS=%d", threads), fmt.Sprintf("OPENBLAS_NUM_THREADS=%d", threads))
	out, err := c.Output()
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(out)).Decode(&times)
	}
	if err != nil {
		t.Fatalf("%d threads: %v\n%s", threads, err, out)
	}
	return times
}

// TestTable writes the table of times beside gonum and OpenBLAS to the files of the flag -table.
func TestTable(t *testing.T) {
	if *pages == "" {
		t.Skip("writes a table with -table")
	}
	text, short := "", ""
	for _, tier := range slices.Backward(tile.Available()[1:]) {
		times := []map[string][]float64{timesOn(t, tier, 1), timesOn(t, tier, 2)}
		if text += table(tier, times) + "\n"; short == "" {
			short = front(tier, times[0])
		}
	}
	for _, file := range strings.Split(*pages, ",") {
		if file == "-" {
			fmt.Println(text)
			continue
		}
		old, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page, err := between(string(old), text)
		if strings.HasSuffix(file, "README.md") {
			page, err = between(string(old), short)
		}
		if err == nil {
			err = os.WriteFile(file, []byte(page), 0o644)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// front returns the table of README.md: some cases on one thread, as multiples of this package's times.
func front(tier tile.Tier, times map[string][]float64) string {
	head, rows := "| time as a multiple of kernel/blas, 1 thread |", [2]string{"| gonum |", "| OpenBLAS |"}
	for _, name := range []string{"Mul 300", "Mul 2000", "Solve 300", "Cholesky 300", "QR 1000x300", "SVD 300x200", "EigenSym 300", "MulVec 2000"} {
		head += " " + name + " |"
		for p := range rows {
			rows[p] += fmt.Sprintf(" %.2f |", times[name][p+1]/times[name][0])
		}
	}
	return fmt.Sprintf("%s\n|%s\n%s\n%s\n\n(%s, %v, %s, by package mat.)\n", head, strings.Repeat(" --- |", 9), rows[0], rows[1],
		cpuid.CPU.BrandName, tier, time.Now().UTC().Format(time.DateOnly))
}

// between replaces the text between two markers of a page.
func between(page, text string) (string, error) {
	const begin, end = "<!-- make bench-blas: begin -->\n", "<!-- make bench-blas: end -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("want the markers %q and %q", strings.TrimSpace(begin), end)
	}
	return before + begin + text + end + after, nil
}

// table returns the times as Markdown: for each number of threads, those of this package in microseconds, and
// those of the peers as multiples of them.
func table(tier tile.Tier, times []map[string][]float64) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, tier %v, %s, OpenBLAS for %s:\n\n", cpuid.CPU.BrandName, tier, runtime.Version(), cores[tier])
	out.WriteString("| case | 1 thread, us | gonum | OpenBLAS | 2 threads, us | gonum | OpenBLAS |\n|---|---|---|---|---|---|---|\n")
	ratios := make([][2][]float64, len(times)) // of gonum and OpenBLAS
	for _, w := range selected() {
		fmt.Fprintf(&out, "| %s |", w.name)
		for k, all := range times {
			best := all[w.name]
			fmt.Fprintf(&out, " %.4g | %.2f | %.2f |", best[0]*1e6, best[1]/best[0], best[2]/best[0])
			for p := range ratios[k] {
				if p > 0 || w.large {
					ratios[k][p] = append(ratios[k][p], best[p+1]/best[0])
				}
			}
		}
		out.WriteString("\n")
	}
	fmt.Fprint(&out, "| geometric mean (gonum: from 64 on) |")
	for _, r := range ratios {
		fmt.Fprintf(&out, " | %.2f | %.2f |", stat.GeometricMean(r[0], nil), stat.GeometricMean(r[1], nil))
	}
	fmt.Fprint(&out, "\n| least |")
	for _, r := range ratios {
		fmt.Fprintf(&out, " | %.2f | %.2f |", slices.Min(r[0]), slices.Min(r[1]))
	}
	out.WriteString("\n")
	return out.String()
}
