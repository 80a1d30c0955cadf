//go:build linux && !race

package difalt_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/scratch/scratchtest"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/topology"
)

// folderOfChild is the environment variable that makes TestMemoryOfSamplesOnDisk a child.
const folderOfChild = "DIFALT_TEST_FOLDER"

// onDiskShape has 256 MB of samples, whose copies take 64.
var onDiskShape = synth.Data{Features: 1000, Tasks: 640, Samples: 50, Rank: 2, Kappa: 3}

// TestMemoryOfSamplesOnDisk: a process that may have three quarters of the samples as data,
// beyond what it begins with, comes to the end where they are on disk, and never has
// half of them in memory of its own. Where they are in memory it fails.
func TestMemoryOfSamplesOnDisk(t *testing.T) {
	if folder, child := os.LookupEnv(folderOfChild); child {
		runWithin(t, folder)
		return
	}
	if testing.Short() {
		t.Skip("writes 256 MB")
	}
	for _, where := range []string{"", scratchtest.Folder(t)} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryOfSamplesOnDisk$", "-test.v")
		cmd.Env = append(os.Environ(), folderOfChild+"="+where, "GOMAXPROCS=2")
		out, err := cmd.CombinedOutput()
		// Without memory Go's runtime ends the process, at times by a nil pointer of its own.
		if where == "" && (err == nil || strings.Contains(string(out), "--- ")) {
			t.Errorf("samples in memory: %v, want a lack of memory:\n%.2000s", err, out)
		}
		if where != "" && err != nil {
			t.Errorf("samples on disk: %v\n%.2000s", err, out)
		}
	}
}

// runWithin solves the problem with little memory.
func runWithin(t *testing.T, folder string) {
	s := onDiskShape
	s.Folder = folder
	samples := int64(8 * s.Features * s.Tasks * s.Samples)
	begin := ownMemory(t, "RssAnon:")
	limit := uint64(ownMemory(t, "VmData:") + samples*3/4)
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	p, err := s.Generate(context.Background(), 2, nil, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	most := ownMemory(t, "RssAnon:")
	res, err := difalt.Run(t.Context(), p, network(t, "complete", 2, topology.Metropolis, 1), difalt.Options{
		Method: difalt.Accelerated, Rank: s.Rank, MixedPrecision: true, Workers: 2,
		Observer: func(*difalt.Record) error {
			most = max(most, ownMemory(t, "RssAnon:"))
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Status != difalt.Converged || !(res.Last.SDMax < 1e-9) {
		t.Errorf("%v at a distance of %g", res.Status, res.Last.SDMax)
	}
	fmt.Printf("%d MB of samples, %d MB of own memory\n", samples>>20, (most-begin)>>20)
	if most-begin > samples/2 {
		t.Errorf("%d bytes of own memory for %d bytes of samples", most-begin, samples)
	}
}

// ownMemory returns a line of /proc/self/status in bytes.
func ownMemory(t *testing.T, key string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == key {
			kb, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("/proc/self/status has no %s", key)
	return 0
}
