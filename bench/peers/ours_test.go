//go:build linux

package peers

import (
	_ "embed"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// ours is this project's kernel as a peer. Its variant float32 stores X in single precision, read is the
// streaming read of X and fma the arithmetic at the peak of multiply-adds, which bound every peer from below
// (they have no answer), and "" is the default.
func ours(p *problem, threads int, variant string) (iterate, export func(*answer), err error) {
	if err := kernel.CheckEnvironment(); err != nil {
		return nil, nil, err
	}
	// What start leaves behind would be as large as X.
	defer debug.FreeOSMemory()
	pool := kernel.NewPool(threads)
	switch variant {
	case "", "float32":
		storage := kernel.Float64
		if variant == "float32" {
			storage = kernel.Float32
		}
		group := kernel.NewGroup(pack(p, storage), p.R)
		executor := kernel.NewExecutor(pool, []*kernel.Group{group})
		u := []*kernel.Basis{kernel.BasisOf(mat.NewDense(p.D, p.R, p.U))}
		iterate = func(*answer) { executor.Step(u, 0) }
		export = func(a *answer) {
			copy(a.B, group.B)
			mat.NewDense(p.D, p.R, a.Grad).Copy(group.Grad)
		}
		return iterate, export, nil
	case "read":
		ceiling := measure.NewCeiling(pool, pack(p, kernel.Float64))
		return func(*answer) { ceiling.Read() }, nil, nil
	case "fma":
		shape := measure.Shape{Tasks: p.Tasks, Samples: p.N, Features: p.D, Rank: p.R}
		arithmetic := measure.NewCeiling(pool).Arithmetic(shape.Flops())
		return func(*answer) { arithmetic() }, nil, nil
	}
	return nil, nil, fmt.Errorf("variant %q: want float32, read or fma", variant)
}

// pack copies the samples into the kernel's layout and releases the originals.
func pack(p *problem, storage kernel.Storage) *kernel.Tasks {
	b := kernel.NewBuilder(p.D, slices.Repeat([]int{p.N}, p.Tasks), storage)
	for i, y := range p.Y {
		b.SetRow(i/p.N, i%p.N, p.X[i*p.D:][:p.D], y)
	}
	p.X, p.Y = nil, nil
	return b.Tasks()
}

//go:embed go.mod
var goMod string

// moduleVersion returns the version of a module that go.mod requires: test binaries contain no versions.
func moduleVersion(path string) string {
	_, rest, _ := strings.Cut(goMod, path+" ")
	version, _, _ := strings.Cut(rest, "\n")
	return version
}
