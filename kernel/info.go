package kernel

import (
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tile"
	"github.com/klauspost/cpuid/v2"
)

// Information says what computes.
type Information struct {
	CPU       string   // brand name of the processor, empty where it has none
	Kernel    string   // active tier, "generic", "avx2", "avx512" or "neon", or "openblas" if it is forced
	Available []string // what DIFALT_KERNEL may name on this machine and build
	Build     string   // "default", "purego" or "openblas"
	BLAS      string   // "gonum", or version and processor type of OpenBLAS
}

// Info returns what computes in this process.
func Info() Information {
	i := Information{CPU: cpuid.CPU.BrandName, Kernel: tile.Active().String(), Build: build, BLAS: blas.Backend()}
	for _, t := range tile.Available() {
		i.Available = append(i.Available, t.String())
	}
	if build == blas.OpenBLAS {
		i.Available = append(i.Available, blas.OpenBLAS)
	}
	if blas.OpenBLASForced() {
		i.Kernel = blas.OpenBLAS
	}
	return i
}

// Err returns an error when the environment variable DIFALT_KERNEL asks for a
// kernel that is unknown, or not available on this machine and build. The default
// is in use then. A program that lets its users set the variable should call Err
// once at start and report the error.
func Err() error {
	if blas.OpenBLASForced() {
		return nil
	}
	return tile.Forced()
}
