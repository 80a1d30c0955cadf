//go:build openblas && linux

package blas_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	openblas "github.com/difalt/difalt/cgo" // links OpenBLAS
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/lapack"
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
	lapacknetlib "gonum.org/v1/netlib/lapack/netlib"
)

var (
	pages = flag.String("table", "", "write the tables of times between two markers in `files`, separated by "+
		"commas; - for the terminal")
	turn   = flag.Duration("turn", 2*time.Millisecond, "time of one implementation's turn")
	budget = flag.Duration("budget", 60*time.Millisecond, "time of all turns of a case")
)

// linked is the OpenBLAS that the process is linked with, with as many threads as OPENBLAS_NUM_THREADS
// allows.
var linked = peer{"OpenBLAS", blasnetlib.Implementation{}, openBLAS{}, blasnetlib.Implementation{},
	blasnetlib.Implementation{}}

// openBLAS is LAPACK by OpenBLAS.
type openBLAS struct{ lapacknetlib.Implementation }

// Dgesvd answers a query with the least length of work that netlib accepts: new versions of OpenBLAS need
// less.
func (o openBLAS) Dgesvd(jobU, jobVT lapack.SVDJob, m, n int, a []float64, lda int, s, u []float64, ldu int,
	vt []float64, ldvt int, work []float64, lwork int) (ok bool) {
	ok = o.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork)
	if lwork == -1 {
		work[0] = max(work[0], float64(max(3*min(m, n)+max(m, n), 5*min(m, n))))
	}
	return ok
}

// A measurement has the least times of the peers, in seconds, by case.
type measurement struct {
	Version string // of OpenBLAS, with the processor that it computes for
	Times   map[string][]float64
}

// TestTimes prints the measurement of all cases, as JSON, on as many threads as GOMAXPROCS and
// OPENBLAS_NUM_THREADS say, of the peers that the variable lists. It does nothing unless TestTable runs it.
func TestTimes(t *testing.T) {
	chosen := os.Getenv("DIFALT_BLAS_TIMES")
	if chosen == "" {
		t.Skip("run by TestTable")
	}
	peers := []peer{ours, linked}
	if chosen == "with gonum" {
		peers = append(peers, gonum)
	}
	clock, start := processTime, time.Now()
	if runtime.GOMAXPROCS(0) > 1 {
		clock = func() time.Duration { return time.Since(start) }
	}
	m := measurement{openblas.Version(), make(map[string][]float64)}
	eachSelected(func(w workload) { m.Times[w.name] = w.least(peers, clock, *turn, *budget) })
	if n := openblas.Threads(); n != runtime.GOMAXPROCS(0) { // blas.Use limits it to one
		t.Fatalf("OpenBLAS took %d threads, not %d", n, runtime.GOMAXPROCS(0))
	}
	if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
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

// cores are the processors that OpenBLAS computes for, by tier: a library older than the machine would
// choose a lesser one.
var cores = map[tile.Tier]string{tile.AVX2: "Haswell", tile.AVX512: "SkylakeX"}

// newer is the variable with a folder of another OpenBLAS, see scripts/openblas.sh.
const newer = "DIFALT_OPENBLAS"

// idleTicks is the logarithm of the ticks of the processor's clock for which idle threads of OpenBLAS poll:
// 30 to 60 us, about as long as helpers of kernel/blas. The default of 26 lets them take a core for up to 30
// ms of the turns after OpenBLAS's own.
const idleTicks = 17

// measure runs TestTimes in a process with a number of threads and a CPU tier, with the OpenBLAS of a folder
// or of the system, and without the variables of OpenBLAS that are set, which change its code and its blocks.
func measure(t *testing.T, tier tile.Tier, threads int, folder string) (m measurement) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^TestTimes$", "-cases", *chosen, "-turn", turn.String(), "-budget",
		budget.String())
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "OPENBLAS_") || strings.HasPrefix(v, "LD_LIBRARY_PATH=")
	})
	what := "with gonum"
	if folder != "" {
		what = "without gonum"
		c.Env = append(c.Env, "LD_LIBRARY_PATH="+folder)
	}
	c.Env = append(c.Env, "DIFALT_BLAS_TIMES="+what, tile.Variable+"="+tier.String(), "OPENBLAS_CORETYPE="+cores[tier],
		fmt.Sprintf("GOMAXPROCS=%d", threads), fmt.Sprintf("OPENBLAS_NUM_THREADS=%d", threads),
		fmt.Sprintf("OPENBLAS_THREAD_TIMEOUT=%d", idleTicks))
	out, err := c.Output()
	if err == nil {
		_, after, _ := strings.Cut("\n"+string(out), "\n{")
		err = json.NewDecoder(strings.NewReader("{" + after)).Decode(&m)
	}
	if err != nil {
		t.Fatalf("%d threads: %v\n%s", threads, err, out)
	}
	return m
}

// TestTable writes the tables of times beside gonum and OpenBLAS to the files of the flag -table.
func TestTable(t *testing.T) {
	if *pages == "" {
		t.Skip("writes tables with -table")
	}
	folders := []string{""}
	if folder := os.Getenv(newer); folder != "" {
		folders = append(folders, folder)
	}
	var text, short strings.Builder
	for _, tier := range slices.Backward(tile.Available()[1:]) {
		r := report{tier: tier, threads: []int{1, 2}}
		for _, threads := range r.threads {
			var all []measurement
			for _, folder := range folders {
				all = append(all, measure(t, tier, threads, folder))
			}
			r.add(all)
		}
		r.write(&text)
		if short.Len() == 0 {
			r.front(&short)
		}
	}
	for _, file := range strings.Split(*pages, ",") {
		if file == "-" {
			fmt.Println(text.String())
			continue
		}
		old, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page, err := between(string(old), text.String())
		if strings.HasSuffix(file, "README.md") {
			page, err = between(string(old), short.String())
		}
		if err == nil {
			err = os.WriteFile(file, []byte(page), 0o644)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// versionOf returns the name and the version of a library, and the processor that it computes for.
func versionOf(m measurement) string {
	words := regexp.MustCompile(`^OpenBLAS ([0-9]+[.][0-9]+[.][0-9]+).*?(\S+) MAX_THREADS`).FindStringSubmatch(
		m.Version)
	if words == nil {
		return m.Version
	}
	return fmt.Sprintf("OpenBLAS %s (%s)", words[1], words[2])
}
