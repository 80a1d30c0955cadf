package kernel

import (
	"github.com/difalt/difalt/internal/processor"
	"github.com/difalt/difalt/internal/tile"
)

// A Description names the processor, the build and the kernel in use.
type Description struct {
	CPU       string   // brand name of the processor, empty where it has none
	Kernel    string   // "generic", "avx2", "avx512" or "neon": the tiles; "gonum" or "openblas"
	Available []string // what DIFALT_KERNEL may name on this machine and build
	Build     string   // "default", "purego" or "openblas"
	Library   string   // version of OpenBLAS, empty in other builds
}

// Describe returns the processor, the build and the kernel of this process.
func Describe() Description {
	i := Description{CPU: processor.Name(), Kernel: inUse.name, Available: available()}
	i.Build, i.Library = build, library()
	if i.Kernel == "" {
		i.Kernel = tile.Active().String()
	}
	return i
}

// CheckEnvironment returns an error about the environment variable DIFALT_KERNEL at the start of the
// program: if it named a kernel that is unknown, or not available on this machine and build. The default is
// in use then. A program whose users may set the variable calls it at start and reports the error.
func CheckEnvironment() error { return unavailable }
