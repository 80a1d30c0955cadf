package terminal

import (
	"bytes"
	"strings"
	"testing"
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
	p := NewProgress(&out, "work", "it", 10)
	p.last = p.last.Add(-PlainInterval)
	p.Add(5)
	p.Add(5)
	p.Close()
	if got := out.String(); !strings.HasPrefix(got, "work: 50 %, ") || strings.ContainsAny(got, "\r\x1b[#") || strings.Count(got, "\n") != 1 {
		t.Errorf("output %q", got)
	}
}

// The line says how many anchors there were, if any.
func TestProgressShowsAnchors(t *testing.T) {
	var out strings.Builder
	s := &Stages{Out: &out}
	s.Show("iterations", 0, 100)
	for _, anchors := range []int{0, 1, 0, 1} {
		s.Anchors(anchors)
	}
	s.bar.last = s.bar.last.Add(-PlainInterval)
	s.Show("iterations", 4, 100)
	s.Close()
	if !strings.Contains(out.String(), " left, 2 anchors\n") {
		t.Errorf("progress is %q", out.String())
	}
}
