//go:build mpi

package mpi

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/consensus/transport"
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
	code, timeout := 0, time.Minute // with the others, which may be late
	if err := parts[name](w); err != nil {
		fmt.Fprintf(os.Stderr, "rank %d: %v\n", w.Rank(), err)
		if code = 1; name != "other size" { // there every process reports before the first one ends the job
			timeout = 500 * time.Millisecond
		}
	}
	w.Leave(code, timeout)
	os.Exit(code)
}

// play starts n processes for a part, and returns their output and their exit code.
func play(t testing.TB, n int, part string) (output string, code int) {
	t.Helper()
	cmd := exec.Command("mpirun", "-np", strconv.Itoa(n), os.Args[0])
	cmd.Env = append(os.Environ(), partVariable+"="+part,
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		// More processes than processors.
		"OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
	timer := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // it ends the processes
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || !timer.Stop() {
		t.Fatalf("%s: %d processes do not start or do not end: %v", part, n, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func quick() engine.Options {
	return engine.Options{JoinTimeout: 2 * time.Minute, RoundTimeout: 2 * time.Minute}
}

// frame returns a frame with that many bytes of code.
func frame(code int) []byte {
	return testnet.Seal(make([]byte, transport.FrameOverhead+code), 0, 0, 0)
}

// connect returns a transport that has joined the others.
func connect(w *World, g *topology.Graph, o engine.Options) (*Transport, error) {
	t := w.New(g, o)
	return t, t.Join(context.Background())
}
