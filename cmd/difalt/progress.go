package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// plainInterval is how often progress is reported where there is no terminal.
const plainInterval = 5 * time.Second

// A progress reports how far a command is: a bar with rate and remaining time on
// a terminal, a plain line now and then elsewhere. Its methods may be called from
// several goroutines. A nil progress reports nothing.
type progress struct {
	bar *progressbar.ProgressBar // nil where there is no terminal

	mu          sync.Mutex
	out         io.Writer
	what        string
	done, total int64
	start, last time.Time
}

// newProgress starts reporting to out. What names the work in a few words; unit
// is what is counted, in the form "it" of "20 it/s".
func newProgress(out io.Writer, what, unit string, total int64) *progress {
	now := time.Now()
	p := &progress{out: out, what: what, total: total, start: now, last: now}
	if !isTerminal(out) {
		return p
	}
	p.bar = progressbar.NewOptions64(p.total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString(unit),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetTheme(progressbar.ThemeUnicode),
	)
	return p
}

// Add reports that n more units are done.
func (p *progress) Add(n int64) {
	if p == nil {
		return
	}
	if p.bar != nil {
		_ = p.bar.Add64(n) // a terminal that cannot show the bar is no reason to stop
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	now := time.Now()
	if p.done >= p.total || now.Sub(p.last) < plainInterval {
		return
	}
	p.last = now
	spent := now.Sub(p.start)
	left := time.Duration(float64(spent) * float64(p.total-p.done) / float64(p.done))
	fmt.Fprintf(p.out, "%s: %d %%, %s left\n", p.what, 100*p.done/p.total, left.Round(time.Second))
}

// Close removes the bar. Lines of other output may follow.
func (p *progress) Close() {
	if p != nil && p.bar != nil {
		_ = p.bar.Clear()
		_ = p.bar.Exit()
	}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
