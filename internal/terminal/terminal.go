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

	"github.com/difalt/difalt/internal/text"
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
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

func width(w io.Writer) int {
	columns, _ := Size(w)
	return columns
}

// Sayf prints a sentence in lines that fit into the terminal, and into 80 columns.
func Sayf(w io.Writer, format string, args ...any) {
	columns := 80
	if n := width(w); n >= 20 {
		columns = min(n, columns)
	}
	fmt.Fprintln(w, text.Wrap(fmt.Sprintf(format, args...), columns))
}

// How often progress is reported: a bar after so long when more is done, and every second in any case; PlainInterval is
// for what is no terminal.
const (
	barInterval   = 100 * time.Millisecond
	tickInterval  = time.Second
	PlainInterval = 5 * time.Second
)

// A Progress reports how far a command is, in one stage after the other: a bar with rate and remaining time on
// a terminal, which moves every second even where nothing gets done, and a plain line now and then elsewhere. Its
// methods may be called from several goroutines.
type Progress struct {
	mu     sync.Mutex
	out    io.Writer
	width  func() int // of the terminal, nil where there is none
	over   chan struct{}
	closed bool // over is
	// Of the stage under way.
	what, unit  string // empty before the first
	anchors     int    // iterations that read the samples themselves
	done, total int64
	start, last time.Time
}

// NewProgress starts reporting to out, until Close.
func NewProgress(out io.Writer) *Progress {
	p, every := &Progress{out: out, over: make(chan struct{})}, PlainInterval
	if Is(out) {
		p.width, every = func() int { return width(out) }, tickInterval
	}
	go p.tick(every, p.over)
	return p
}

// Begin begins a stage. What names it in a few words; unit is what is counted, in the form "it" of "20 it/s", or empty
// where rates say nothing.
func (p *Progress) Begin(what, unit string, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin(what, unit, total)
}

func (p *Progress) begin(what, unit string, total int64) {
	p.what, p.unit, p.done, p.total, p.anchors, p.start = what, unit, 0, total, 0, time.Now()
	p.last = p.start
}

// tick reports again and again, whether there is news or not.
func (p *Progress) tick(every time.Duration, over <-chan struct{}) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case now := <-ticker.C:
			p.mu.Lock()
			p.show(now)
			p.mu.Unlock()
		}
	}
}

// Add reports that n more units are done.
func (p *Progress) Add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(p.done+n, p.total)
}

func (p *Progress) set(done, total int64) {
	p.done, p.total = done, total
	if now := time.Now(); p.width != nil && done < total && now.Sub(p.last) >= barInterval {
		p.show(now)
	}
}

// Iterations is the stage of those of the algorithm, which have a rate.
const Iterations = "iterations"

// Stage reports that so much of a stage is done, and begins it if another one was under way.
func (p *Progress) Stage(stage string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stage != p.what {
		unit := ""
		if stage == Iterations {
			unit = "it"
		}
		p.begin(stage, unit, total)
	}
	p.set(done, total)
}

// show reports how far the work is at a time.
func (p *Progress) show(now time.Time) {
	if p.closed || p.what == "" {
		return
	}
	p.last = now
	spent := now.Sub(p.start)
	share, more := 0.0, fmt.Sprintf("%s so far", spent.Round(time.Second))
	if p.total > 0 {
		share = min(float64(p.done)/float64(p.total), 1)
	}
	if share > 0 {
		more = fmt.Sprintf("%s left", time.Duration(float64(spent)*(1-share)/share).Round(time.Second))
	}
	if p.anchors > 0 {
		more += ", " + text.Plural(p.anchors, "anchor")
	}
	if p.width == nil {
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
	fmt.Fprintf(p.out, "\r\x1b[K%s", barLine(p.width(), p.what, share, more))
}

// Anchors reports that n more of the iterations have read the samples themselves, and not
// their copies in 16 bits.
func (p *Progress) Anchors(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.anchors += n
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
	if p.width != nil {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// Close removes the bar, which does not come back. Lines of other output may follow.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		close(p.over)
		p.clear()
	}
}
