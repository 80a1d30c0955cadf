package bench

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel"
	"github.com/klauspost/cpuid/v2"
)

// TestMain prints what a reader of the numbers needs to know of the machine, as lines that benchstat keeps.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() != "" {
		fmt.Print(header())
	}
	os.Exit(m.Run())
}

// header describes the machine: its caches, the kernel in use and how busy it is.
func header() string {
	info, c := kernel.Describe(), cpuid.CPU.Cache
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	return fmt.Sprintf("caches: L1d %dK, L2 %dK, L3 %dK\nkernel: %s (build %s)\nlibrary: %s\nload: %s\n",
		c.L1D>>10, c.L2>>10, c.L3>>10, info.Kernel, info.Build, cmp.Or(info.Library, "none"), load)
}

// Every line of the header is a key and a value.
func TestHeader(t *testing.T) {
	for line := range strings.Lines(header()) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !ok || key == "" || strings.TrimSpace(value) == "" {
			t.Errorf("line %q", line)
		}
	}
}
