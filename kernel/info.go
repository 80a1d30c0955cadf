package kernel

import (
	"os"
	"strings"

	"github.com/difalt/difalt/kernel/internal/tile"
	"github.com/klauspost/cpuid/v2"
)

// Information says what computes.
type Information struct {
	CPU       string   // brand name of the processor, empty where it has none
	Kernel    string   // "generic", "avx2", "avx512" or "neon"; "openblas" if forced
	Available []string // what DIFALT_KERNEL may name on this machine and build
	Build     string   // "default", "purego" or "openblas"
	Library   string   // version of OpenBLAS, empty in other builds

	// Schedule is the schedule of prefetching that DIFALT_SCHEDULE forces, empty if that is
	// measured, and Schedules are what the variable may name.
	Schedule  string
	Schedules []string
}

// Info returns what computes in this process. A build with OpenBLAS uses it for
// the shapes for which it is faster than Kernel.
func Info() Information {
	i := Information{CPU: cpuid.CPU.BrandName, Kernel: tile.Active().String(), Build: build, Library: library()}
	i.Schedules = tile.ScheduleNames()
	if forced, _ := tile.ForcedSchedule(); forced != nil {
		i.Schedule = forced.Name
	}
	for _, t := range tile.Available() {
		i.Available = append(i.Available, t.String())
	}
	if build == openBLAS {
		i.Available = append(i.Available, openBLAS)
		if forcedOpenBLAS() {
			i.Kernel = openBLAS
		}
	}
	return i
}

// UseBLAS has gonum's blas64 and lapack64, and so package mat, compute with what this build has of faster: with
// the tiles, or, in a build with -tags openblas, with OpenBLAS, held to one thread. On the generic tier gonum stays as it is. That
// is for the whole program, so it is for main to decide, before anything computes. Package fit computes
// with gonum; the kernel does not.
func UseBLAS() { useBLAS() }

// Err returns an error when the environment variable DIFALT_KERNEL asks for a
// kernel, or DIFALT_SCHEDULE for a schedule, that is unknown, or not available on this
// machine and build. The default is in use then. A program that lets its users set the
// variables should call Err once at start and report the error.
func Err() error {
	if err := tile.Forced(); err != nil && !(build == openBLAS && forcedOpenBLAS()) {
		return err
	}
	_, err := tile.ForcedSchedule()
	return err
}

// openBLAS names a build, and a kernel of it.
const openBLAS = "openblas"

func forcedOpenBLAS() bool { return strings.EqualFold(os.Getenv(tile.Variable), openBLAS) }
