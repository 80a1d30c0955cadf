package kernel

import (
	"github.com/difalt/difalt/internal/tile"
	"github.com/klauspost/cpuid/v2"
)

// A Description names the processor, the build and the kernel in use.
type Description struct {
	CPU       string   // brand name of the processor, empty where it has none
	Kernel    string   // "generic", "avx2", "avx512" or "neon": the tiles; "gonum" or "openblas"
	Available []string // what DIFALT_KERNEL may name on this machine and build
	Build     string   // "default", "purego" or "openblas"
	Library   string   // version of OpenBLAS, empty in other builds

	// Schedule is the schedule of prefetching that DIFALT_SCHEDULE forces, empty if that is
	// measured, and Schedules are what the variable may name.
	Schedule  string
	Schedules []string
}

// Describe returns the processor, the build and the kernel of this process.
func Describe() Description {
	i := Description{CPU: cpuid.CPU.BrandName, Kernel: chosenName, Available: available(), Build: build, Library: library()}
	if i.Kernel == "" {
		i.Kernel = tile.Active().String()
	}
	i.Schedules = tile.ScheduleNames()
	if forced, _ := tile.ForcedSchedule(); forced != nil {
		i.Schedule = forced.Name
	}
	return i
}

// UseBLAS makes gonum's blas64 and lapack64, and so package mat, compute with the tiles in the whole program
// or, in a build with -tags openblas, with OpenBLAS on one thread. On the generic tier gonum stays as it is.
// Package main calls it before anything computes. The kernel itself calls blas64 and lapack64 with
// DIFALT_KERNEL=gonum only.
func UseBLAS() { useBLAS() }

// CheckEnvironment returns an error if the environment variable DIFALT_KERNEL named a kernel, or
// DIFALT_SCHEDULE names a schedule, that is unknown, or not available on this machine and build. The default
// is in use then. DIFALT_KERNEL is read when the program starts. A program whose users may set the variables
// calls it at start and reports the error.
func CheckEnvironment() error {
	if unavailable != nil {
		return unavailable
	}
	_, err := tile.ForcedSchedule()
	return err
}
