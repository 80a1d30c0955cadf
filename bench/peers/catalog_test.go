//go:build linux

package peers

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/kernel"
)

// A peer is one implementation of the iteration.
type peer struct {
	name string
	// build returns the command line without PROBLEM THREADS VARIANT.
	build   func(*builder) ([]string, error)
	variant string
	// env returns what the peer needs besides the thread counts of every library.
	env func() []string
	// pinned peers can be held to a number of threads by their processors only.
	pinned bool
}

// The peers that every comparison contains: the floors, and what the others are
// measured against.
var always = []string{readFloor: "streaming read", fmaFloor: "arithmetic at peak", reference: "difalt"}

// Where they are in the catalog.
const (
	readFloor = iota
	fmaFloor
	reference
)

// catalog returns all peers in the order of the table.
func catalog() []peer {
	// The library does one product at a time; OpenMP or goroutines share the tasks.
	oneThread := func() []string {
		return append(systemOpenBLAS(), "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1", "MKL_THREADING_LAYER=SEQUENTIAL")
	}
	return []peer{
		{name: always[readFloor], build: self, variant: "read"},
		{name: always[fmaFloor], build: self, variant: "fma"},
		{name: always[reference], build: self},
		{name: "difalt, float32 storage", build: self, variant: "float32"},
		{name: "difalt, forced to OpenBLAS", build: oursOpenBLAS, env: func() []string {
			return append(systemOpenBLAS(), "DIFALT_KERNEL=openblas")
		}},
		{name: "C, OpenBLAS batched", build: cOpenBLAS, env: oneThread},
		{name: "C, MKL batched", build: cMKL, env: oneThread},
		{name: "C++, Eigen", build: eigen},
		{name: "NumPy", build: python("numpy_peer.py", "numpy")},
		{name: "JAX", build: python("jax_peer.py", "jax"), pinned: true},
		{name: "Numba", build: python("numba_peer.py", "numba")},
		{name: "gonum", build: self, env: func() []string { return []string{"DIFALT_KERNEL=gonum"} }},
	}
}

// systemOpenBLAS returns what the OpenBLAS of the system needs to do its best.
// Releases older than the processor do not know it and fall back to code of 2004;
// any AVX-512 processor runs the code for the first of them.
func systemOpenBLAS() []string {
	const variable = "OPENBLAS_CORETYPE"
	if _, set := os.LookupEnv(variable); set || !slices.Contains(kernel.Describe().Available, "avx512") {
		return nil
	}
	return []string{variable + "=SkylakeX"}
}

// self is the binary of these tests, which serves problems too.
func self(*builder) ([]string, error) {
	path, err := os.Executable()
	return []string{path, "serve"}, err
}

// oursOpenBLAS is this project's kernel with OpenBLAS.
func oursOpenBLAS(b *builder) ([]string, error) {
	const name = "ours-openblas"
	command, err := b.compile(name, b.root, []string{"CGO_ENABLED=1"}, "go", "test", "-c", "-tags", "openblas", "-o",
		b.out(name), "./bench/peers")
	return append(command, "serve"), err
}

var optimised = []string{"-O3", "-march=native", "-DNDEBUG", "-fopenmp"}

// inC compiles c/peer.c with a library.
func (b *builder) inC(name, library string, flags []string, link ...string) ([]string, error) {
	return b.compile(name, b.dir, nil, slices.Concat([]string{cmp.Or(os.Getenv("CC"), "cc")}, optimised, flags,
		[]string{fmt.Sprintf(`-DVERSION="%s"`, library), "c/peer.c", "-o", b.out(name)}, link, []string{"-lm"})...)
}

func cOpenBLAS(b *builder) ([]string, error) {
	version := firstLine("pkg-config", "--modversion", "openblas")
	return b.inC("c-openblas", "OpenBLAS "+version, []string{"-DOPENBLAS"},
		append(strings.Fields(os.Getenv("LDFLAGS")), "-lopenblas")...)
}

func cMKL(b *builder) ([]string, error) {
	libraries, _ := filepath.Glob(filepath.Join(filepath.Dir(b.python), "..", "lib", "libmkl_rt.so.*"))
	if len(libraries) == 0 {
		return nil, errors.New("no MKL in the Python environment")
	}
	lib := libraries[len(libraries)-1]
	version := firstLine(b.python, "-c", `import importlib.metadata as m; print(m.version("mkl"))`)
	return b.inC("c-mkl", "MKL "+version, nil, lib, "-Wl,-rpath,"+filepath.Dir(lib))
}

func eigen(b *builder) ([]string, error) {
	args := append([]string{cmp.Or(os.Getenv("CXX"), "c++"), "-std=c++17", "-I/usr/include/eigen3"}, optimised...)
	return b.compile("eigen", b.dir, nil, append(args, "eigen/peer.cpp", "-o", b.out("eigen"))...)
}

func python(script, module string) func(*builder) ([]string, error) {
	return func(b *builder) ([]string, error) {
		if firstLine(b.python, "-c", "import "+module+"; print(1)") != "1" {
			return nil, fmt.Errorf("%s is not installed for %s", module, b.shown(b.python))
		}
		return []string{b.python, filepath.Join(b.dir, "python", script)}, nil
	}
}

// A builder compiles peers into bench/peers/.build, each program once.
type builder struct {
	root   string // of the module
	dir    string // bench/peers
	python string // interpreter
	done   map[string]error
}

// newBuilder returns a builder for the module; tests run in the folder of their package.
func newBuilder() (*builder, error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	b := &builder{root: filepath.Join(dir, "..", ".."), dir: dir, done: make(map[string]error)}
	b.python = cmp.Or(os.Getenv("PEERS_PYTHON"), filepath.Join(b.dir, ".venv", "bin", "python"))
	return b, os.MkdirAll(b.out(""), 0o755)
}

// out returns where a program is built.
func (b *builder) out(name string) string { return filepath.Join(b.dir, ".build", name) }

// shown returns a path as it is reported: relative to the module where it is in it.
func (b *builder) shown(path string) string {
	if rel, err := filepath.Rel(b.root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// compile runs a compiler in dir unless it has built the program already.
func (b *builder) compile(name, dir string, env []string, command ...string) ([]string, error) {
	err, done := b.done[name]
	if !done {
		err = b.execute(dir, env, command)
		b.done[name] = err
	}
	return []string{b.out(name)}, err
}

func (b *builder) execute(dir string, env, command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	for line := range strings.SplitSeq(string(out), "\n") {
		if strings.Contains(line, "error") || strings.Contains(line, "cannot find") {
			return fmt.Errorf("does not build: %s", strings.ReplaceAll(strings.TrimSpace(line), b.root+"/", ""))
		}
	}
	return fmt.Errorf("does not build: %w", err)
}
