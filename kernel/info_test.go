package kernel_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
)

func TestInfo(t *testing.T) {
	i := kernel.Describe()
	if !slices.Contains(i.Available, i.Kernel) || i.Available[0] != "generic" {
		t.Errorf("kernel %q, available %v", i.Kernel, i.Available)
	}
	if !slices.Contains([]string{"default", "purego", "openblas"}, i.Build) {
		t.Errorf("build %q", i.Build)
	}
	if (i.Build == "openblas") != (i.Library != "") ||
		(i.Build == "openblas") != slices.Contains(i.Available, "openblas") {
		t.Errorf("build %q, library %q, available %v", i.Build, i.Library, i.Available)
	}
	if i.Build == "purego" && i.Kernel != "generic" {
		t.Errorf("build %q, kernel %q", i.Build, i.Kernel)
	}
	if name := os.Getenv(tile.Variable); slices.Contains(i.Available, name) && i.Kernel != name {
		t.Errorf("%s=%s, kernel %q", tile.Variable, name, i.Kernel)
	}
}

// The variable is read when a process starts; an unknown value is an error.
func TestErr(t *testing.T) {
	if name := os.Getenv("DIFALT_TEST_ERR"); name != "" {
		fmt.Printf("kernel %s, error %v\n", kernel.Describe().Kernel, kernel.CheckEnvironment())
		os.Exit(0)
	}
	restore, err := kernel.UseBackend("sse9")
	restore()
	if err == nil || !strings.Contains(err.Error(), "DIFALT_KERNEL=sse9") {
		t.Errorf("sse9: %v, want an error that names it", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := func(name string) string {
		cmd := exec.Command(program, "-test.run=^TestErr$")
		cmd.Env = append(os.Environ(), "DIFALT_TEST_ERR=1", tile.Variable+"="+name)
		out, err := cmd.Output()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulator runs this test, but starts no process")
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	available := kernel.Describe().Available
	for _, name := range append([]string{"GENERIC", "Gonum"}, available...) {
		if got, want := start(name), "kernel "+strings.ToLower(name)+", error <nil>\n"; got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"avx2", "avx512", "neon", "openblas", "sse9"} {
		if slices.Contains(available, name) {
			continue
		}
		if got := start(name); !strings.Contains(got, "DIFALT_KERNEL="+name) || !strings.Contains(got, "generic") {
			t.Errorf("%q: %q, want an error that names it and what there is", name, got)
		}
	}
}
