package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// The line of progress fits in every terminal, in characters that every font has, and
// narrow ones show at least what is done and how much of it.
func TestBarLine(t *testing.T) {
	for width := range 200 {
		for _, share := range []float64{0, 0.001, 0.5, 0.999, 1} {
			line := barLine(width, "cross-validation", share, "12.3 it/s, 1m5s left")
			if len(line) > max(0, width-1) {
				t.Fatalf("%d columns: a line of %d", width, len(line))
			}
			if i := strings.IndexFunc(line, func(c rune) bool { return c < ' ' || c > '~' }); i >= 0 {
				t.Fatalf("%q holds %q", line, line[i])
			}
			if width > 25 && !strings.HasPrefix(line, "cross-validation ") || width > 50 && !strings.Contains(line, "[") || width >= 60 && !strings.HasSuffix(line, "left") {
				t.Fatalf("%d columns: %q", width, line)
			}
		}
	}
	if got, want := barLine(50, "work", 0.5, "2 it/s, 5s left"), "work  50 % [#########.........] 2 it/s, 5s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Where there is no terminal there is no bar.
func TestPlainProgress(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out)
	defer p.Close()
	p.Stage("work", "it", 0, 10)
	p.Stage("work", "it", 5, 10)
	p.show(p.start.Add(20 * time.Second))
	if got, want := out.String(), "work: 50 %, 20s left\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}

// A line comes again and again where nothing gets done, too, and none after Close.
func TestProgressTicks(t *testing.T) {
	lines := make(chan string)
	p := &Progress{out: writerFunc(func(b []byte) { lines <- string(b) }), what: "reading", start: time.Now()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.tick(time.Millisecond)
	}()
	for range 3 {
		if line := <-lines; !strings.HasPrefix(line, "reading: 0 %, ") || !strings.HasSuffix(line, "s so far\n") {
			t.Errorf("line %q", line)
		}
	}
	go p.Close()
	for { // one may be under way
		select {
		case <-lines:
			continue
		case <-ended:
		}
		break
	}
}

type writerFunc func(b []byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}
