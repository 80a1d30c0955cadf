package terminal

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// A front is a writer before a terminal, which keeps what is written.
type front struct {
	strings.Builder
	terminal *os.File
}

func (f *front) Behind() io.Writer { return f.terminal }

// TestSayfFits: sentences are cut between words, at the width of the terminal, or at 80 columns of a wider
// one.
func TestSayfFits(t *testing.T) {
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("skipped: no terminals here: %v", err)
	}
	defer pty.Close()
	for columns, most := range map[uint16]int{40: 40, 79: 79, 80: 80, 200: 80} {
		size := [4]uint16{30, columns}
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, pty.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); e != 0 {
			t.Fatal(e)
		}
		out := &front{terminal: pty}
		Sayf(out, "%s", strings.Repeat("features ", 60))
		longest := 0
		for line := range strings.Lines(out.String()) {
			longest = max(longest, len(strings.TrimSuffix(line, "\n")))
			if !strings.HasSuffix(line, "features\n") {
				t.Errorf("%d columns: the line %q ends within a word", columns, line)
			}
		}
		if longest > most || longest <= most-len(" features") {
			t.Errorf("%d columns: lines have up to %d, want up to %d", columns, longest, most)
		}
	}
}
