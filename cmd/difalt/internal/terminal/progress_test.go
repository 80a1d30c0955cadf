package terminal

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The line of progress fits in every terminal, in characters that every font has; narrow
// terminals get at least the stage.
func TestBarLine(t *testing.T) {
	for width := range 200 {
		for _, share := range []float64{-1, 0, 0.001, 0.5, 0.999, 1} {
			line := barLine(width, "2 of 5: comparing ranks", "", share, 65*time.Second)
			if len(line) > max(0, width-1) {
				t.Fatalf("%d columns: a line of %d", width, len(line))
			}
			if i := strings.IndexFunc(line, func(c rune) bool { return c < ' ' || c > '~' }); i >= 0 {
				t.Fatalf("%q holds %q", line, line[i])
			}
			if width > 26 && !strings.HasPrefix(line, "2 of 5: comparing ranks ") ||
				width > 60 && strings.Contains(line, "[") != (share >= 0) {
				t.Fatalf("%d columns, %v: %q", width, share, line)
			}
		}
	}
	got := barLine(52, "1 of 2: work", "", 0.5, 5*time.Second)
	want := "1 of 2: work [###########...........] 50 %, 5s left"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Where nobody knows the share there is no bar and no time left.
func TestBarLineWithDetail(t *testing.T) {
	const want = "2 of 5: ranks 12 sums, 1m5s so far"
	if got := barLine(80, "2 of 5: ranks", "12 sums", -1, 65*time.Second); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Elsewhere than on a terminal there is one line for a stage, and only if it lasts.
func TestPlainProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewProgress(&out, "reading", "comparing ranks")
		p.Stage("reading", 0)
		time.Sleep(time.Second)
		p.Stage("comparing ranks", 0)
		for i := range 20 {
			p.Stage("comparing ranks", float64(i)/20)
			time.Sleep(time.Second)
		}
		p.Stage("writing", -1)
		time.Sleep(time.Minute)
		p.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := out.String(), "stage 2 of 2: comparing ranks\nstage writing\n"; got != want {
			t.Errorf("output %q, want %q", got, want)
		}
	})
}

// Sentences are cut between words, and fill lines of 80 columns.
func TestSayf(t *testing.T) {
	var out bytes.Buffer
	Sayf(&out, "%s", strings.Repeat("features ", 60))
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if line != strings.TrimSpace(strings.Repeat("features ", min(9, 60-9*i))) {
			t.Errorf("line %d is %q", i, line)
		}
	}
}
