// Package terminal writes for people who watch: lines that fit into their terminal, and how far
// work is.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"golang.org/x/term"
)

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Size returns the size of the terminal that w, or a writer behind it, writes to; zeros if there
// is none or its size is not known.
func Size(w io.Writer) (columns, rows int) {
	if outer, ok := w.(interface{ Behind() io.Writer }); ok {
		w = outer.Behind()
	}
	if f, ok := w.(*os.File); ok {
		columns, rows, _ = term.GetSize(int(f.Fd())) // zeros after an error
	}
	return columns, rows
}

// Sayf prints a sentence in lines that fit into the terminal, and into 80 columns.
func Sayf(w io.Writer, format string, args ...any) {
	columns := 80
	if n, _ := Size(w); n >= 20 {
		columns = min(n, columns)
	}
	fmt.Fprintln(w, text.Wrap(fmt.Sprintf(format, args...), columns))
}

// How often progress is reported: as a bar, and by lines where there is no terminal.
const (
	barInterval   = 100 * time.Millisecond
	PlainInterval = 5 * time.Second
)

// A Progress reports how far a command is, in one stage after the other: a bar with rate and remaining time on
// a terminal, and a plain line now and then elsewhere, both also while nothing gets done. Its methods may be called from
// several goroutines.
type Progress struct {
	mu     sync.Mutex
	out    io.Writer
	live   bool // out is a terminal
	closed bool
	// Of the stage under way.
	what, unit  string // empty before the first
	done, total int64
	start       time.Time
}

// NewProgress starts reporting to out, until Close.
func NewProgress(out io.Writer) *Progress {
	p, every := &Progress{out: out, live: Is(out)}, PlainInterval
	if p.live {
		every = barInterval
	}
	go p.tick(every)
	return p
}

// tick reports again and again until Close, whether there is news or not.
func (p *Progress) tick(every time.Duration) {
	for now := range time.Tick(every) {
		p.mu.Lock()
		p.show(now)
		over := p.closed
		p.mu.Unlock()
		if over {
			return
		}
	}
}

// Iterations is the stage of those of the algorithm, in a fit.
const Iterations = "iterations"

// Stage reports that so much of a stage is done, and begins it if another one was under way. What names it in a few
// words; unit is what is counted, in the form "it" of "20 it/s", or empty where rates say nothing.
func (p *Progress) Stage(what, unit string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if what != p.what {
		p.what, p.unit, p.start = what, unit, time.Now()
	}
	p.done, p.total = done, total
}

// show reports how far the work is at a time.
func (p *Progress) show(now time.Time) {
	if p.closed || p.what == "" {
		return
	}
	spent := now.Sub(p.start)
	share, more := 0.0, fmt.Sprintf("%s so far", spent.Round(time.Second))
	if p.total > 0 {
		share = min(float64(p.done)/float64(p.total), 1)
	}
	if share > 0 {
		more = fmt.Sprintf("%s left", time.Duration(float64(spent)*(1-share)/share).Round(time.Second))
	}
	if !p.live {
		fmt.Fprintf(p.out, "%s: %d %%, %s\n", p.what, int(100*share), more)
		return
	}
	if p.unit != "" {
		rate := strconv.FormatFloat(float64(p.done)/spent.Seconds(), 'f', 0, 64)
		if p.done < 100*int64(spent.Seconds()) {
			rate = fmt.Sprintf("%.2g", float64(p.done)/spent.Seconds())
		}
		more = fmt.Sprintf("%s %s/s, %s", rate, p.unit, more)
	}
	// A terminal that cannot show the bar is no reason to stop.
	columns, _ := Size(p.out)
	fmt.Fprintf(p.out, "\r\x1b[K%s", barLine(columns, p.what, share, more))
}

// barLine returns a line shorter than the terminal is wide: what is done, the share of
// it, a bar, and more, of which narrow terminals leave out the last ones. It is ASCII,
// which every font has.
func barLine(width int, what string, share float64, more string) string {
	line := fmt.Sprintf("%s %3.0f %%", what, 100*share)
	bar := min(width-1-len(line)-len(more)-len("  []  "), 60)
	if bar < 5 {
		bar, more = min(width-1-len(line)-len(" []"), 60), ""
	}
	if bar >= 5 {
		full := int(share * float64(bar))
		line += " [" + strings.Repeat("#", full) + strings.Repeat(".", bar-full) + "] " + more
	}
	line = strings.TrimRight(line, " ")
	return line[:max(0, min(len(line), width-1))]
}

// Say prints a line that stays.
func (p *Progress) Say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.clear()
		Sayf(p.out, "%s", line)
	}
}

func (p *Progress) clear() {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// Close removes the bar, which does not come back. Lines of other output may follow.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.clear()
	}
}
