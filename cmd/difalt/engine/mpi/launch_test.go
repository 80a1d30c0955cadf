//go:build mpi

package mpi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// A test of this package starts itself again under mpirun, and each process plays a
// part. One that returns an error ends with exit code 1.
const partVariable = "DIFALT_TEST_PART"

var parts = map[string]func(w *World) error{}

func TestMain(m *testing.M) {
	name := os.Getenv(partVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	w, err := Init()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code, timeout := 0, 10*time.Second // with the others, which may be late
	if err := parts[name](w); err != nil {
		fmt.Fprintf(os.Stderr, "rank %d: %v\n", w.Rank(), err)
		code, timeout = 1, 500*time.Millisecond
	}
	w.Leave(code, timeout)
	os.Exit(code)
}

// launcher returns the command that starts n processes on this machine, however few
// processors it has and whoever starts it.
func launcher(n int, args ...string) *exec.Cmd {
	cmd := exec.Command("mpirun", append([]string{"-np", strconv.Itoa(n)}, args...)...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
	return cmd
}

// play starts n processes for a part, and returns their output and their exit code.
func play(t testing.TB, n int, part string) (output string, code int) {
	t.Helper()
	cmd := launcher(n, os.Args[0])
	cmd.Env = append(cmd.Env, partVariable+"="+part)
	timer := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // it ends the processes
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || !timer.Stop() {
		t.Fatalf("%s: %d processes do not start or do not end: %v", part, n, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// succeeds has 2, 4 and 8 processes play a part without an error.
func succeeds(t *testing.T, part string) {
	t.Helper()
	for _, n := range []int{2, 4, 8} {
		if text, code := play(t, n, part); code != 0 {
			t.Errorf("%d processes: exit code %d: %s", n, code, text)
		}
	}
}

// ring returns the edges among the processes: a ring, or one edge.
func ring(w *World) *topology.Graph {
	name := "ring"
	if w.Size() == 2 {
		name = "path"
	}
	return must(topology.Parse(name, w.Size(), 1))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func quick() engine.Options {
	return engine.Options{JoinTimeout: time.Minute, RoundTimeout: time.Minute}
}

// frame returns a frame of so many bytes beyond its header, which its numbers decide.
func frame(code int, numbers ...uint64) []byte {
	rng := rand.New(rand.NewPCG(uint64(code), uint64(len(numbers))))
	for _, x := range numbers {
		rng = rand.New(rand.NewPCG(rng.Uint64(), x))
	}
	p := make([]byte, wire.FrameOverhead+code)
	for k := range code {
		p[2+k] = byte(rng.Uint32())
	}
	return testnet.Seal(p, wire.Origin{}, 0)
}

// mentions reports what a text lacks.
func mentions(t *testing.T, what, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %s", what, want, text)
		}
	}
}

// connect returns a transport that has joined the others.
func connect(w *World, g *topology.Graph, o engine.Options) (*Transport, error) {
	t := w.New(g, o)
	return t, t.Join(context.Background())
}
