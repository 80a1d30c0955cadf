package scratch_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/scratch"
	"github.com/difalt/difalt/internal/scratch/scratchtest"
)

// TestFile holds what is written, and leaves no name in its folder.
func TestFile(t *testing.T) {
	folder := scratchtest.Folder(t)
	const n = 3<<20 + 8
	f, err := scratch.New(folder, n)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
		t.Errorf("the folder holds %v, %v: want nothing", names, err)
	}
	x := scratch.Numbers[float64](f)
	if len(x) != n/8 || len(scratch.Numbers[float32](f)) != n/4 {
		t.Fatalf("%d and %d numbers in %d bytes", len(x), len(scratch.Numbers[float32](f)), n)
	}
	for i := range x {
		if x[i] != 0 {
			t.Fatalf("entry %d is %v in a new file", i, x[i])
		}
		x[i] = float64(i)
	}
	f.Seal()
	f.Ahead(0, 10)
	f.Ahead(5000, 2<<20)
	f.Ahead(n, n+1)
	f.Scattered(true)
	defer f.Scattered(false)
	for i, v := range x {
		if v != float64(i) {
			t.Fatalf("entry %d is %v", i, v)
		}
	}
	runtime.KeepAlive(f)
	if f, err := scratch.New(folder, 0); err != nil || len(scratch.Numbers[float64](f)) != 0 {
		t.Errorf("a file of no bytes: %v", err)
	}
}

// TestSealedFile cannot be written.
func TestSealedFile(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("memory cannot be sealed on this system")
	}
	f, err := scratch.New(scratchtest.Folder(t), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	x := scratch.Numbers[float64](f)
	x[9] = 7
	f.Seal()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, i := range []int{0, 9, len(x) - 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("entry %d was written", i)
				}
			}()
			x[i] = 8
		}()
	}
	if x[9] != 7 {
		t.Errorf("entry 9 is %v", x[9])
	}
	runtime.KeepAlive(f)
}

// TestFileIsReleased: mappings do not outlive those who refer to them.
func TestFileIsReleased(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/self/maps")
	}
	folder := scratchtest.Folder(t)
	mapped := func() bool {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(maps), folder)
	}
	f, err := scratch.New(folder, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if !mapped() {
		t.Error("the file is not mapped")
	}
	runtime.KeepAlive(f)
	f = nil
	for range 100 {
		runtime.GC()
		if !mapped() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the file is still mapped")
}

func TestFileRefuses(t *testing.T) {
	folder := scratchtest.Folder(t)
	for name, c := range map[string]struct {
		folder string
		bytes  int
	}{
		"larger than any disk": {folder, min(1<<60, math.MaxInt)},
		"no such folder":       {filepath.Join(folder, "none"), 1},
	} {
		if _, err := scratch.New(c.folder, c.bytes); err == nil || !strings.Contains(err.Error(), c.folder) {
			t.Errorf("%s: error %v, want one that names the folder", name, err)
		}
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
		t.Errorf("the folder holds %v, %v: want nothing", names, err)
	}
	if _, err := os.Stat("/dev/shm"); runtime.GOOS == "linux" && err == nil {
		if _, err := scratch.New("/dev/shm", 1); !errors.Is(err, scratch.ErrMemory) {
			t.Errorf("a folder in memory: %v", err)
		}
	}
}
