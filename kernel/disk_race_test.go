//go:build race

package kernel_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/scratch/scratchtest"
	"github.com/difalt/difalt/kernel"
)

const racing = "DIFALT_TEST_RACE_ON_DISK"

// TestRaceOnDiskIsSeen builds tasks by two goroutines that set the same row, or of which one
// ends the building. The race detector looks at Go's memory only, where samples on disk are
// not; but the responses are, and the builder. Later writes cannot be: see package scratch.
func TestRaceOnDiskIsSeen(t *testing.T) {
	row := make([]float64, 3)
	races := map[string]func(b *kernel.Builder){
		"same row": func(b *kernel.Builder) { b.SetRow(1, 1, row, 2) },
		"end":      func(b *kernel.Builder) { b.Tasks() },
	}
	if race := races[os.Getenv(racing)]; race != nil {
		b, err := kernel.NewBuilderOnDisk(scratchtest.Folder(t), 3, []int{2, 2}, kernel.Float64)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan bool)
		go func() {
			defer close(done)
			b.SetRow(1, 1, row, 1)
		}()
		defer func() { recover(); <-done }() // where the end came first
		race(b)
		return
	}
	for name := range races {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRaceOnDiskIsSeen$")
		cmd.Env = append(os.Environ(), racing+"="+name)
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "DATA RACE") {
			t.Errorf("%s: not seen:\n%.500s", name, out)
		}
	}
}
