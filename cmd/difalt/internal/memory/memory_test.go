package memory

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Setenv(Variable, "10GB")
	if err := Check(9.9e9, "nine"); err != nil {
		t.Error(err)
	}
	err := Check(4e12, "12 x 12 weights")
	if want := "12 x 12 weights need at least 4.0 TB of memory, and 10 GB are available (set DIFALT_MEMORY"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if err := Check(1e300, "all"); err == nil || !strings.Contains(err.Error(), "1.0e+288 TB") {
		t.Errorf("error %v", err)
	}
	t.Setenv(Variable, "unlimited")
	if err := Check(1e300, "all"); err != nil {
		t.Error(err)
	}
	t.Setenv(Variable, "lots")
	if err := Check(1, "one"); err == nil || !strings.Contains(err.Error(), `DIFALT_MEMORY is "lots"`) {
		t.Errorf("error %v", err)
	}
}

// What the machine is said to have is there.
func TestMachine(t *testing.T) {
	have, _, known := machine()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	if !known || have < 16<<20 || have > 1<<50 {
		t.Errorf("%v bytes, %v", have, known)
	}
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "1GiB") // which has been read when the process began
	Bound()
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("the limit of who knows better was %d, and is %d", before, got)
	}
	t.Setenv("GOMEMLIMIT", "")
	Bound()
	if got := float64(debug.SetMemoryLimit(-1)); got < have/2 || got > 2*have {
		t.Errorf("the heap may grow to %v of %v bytes", got, have)
	}
}
