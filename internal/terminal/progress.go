package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/internal/text"
)

// How often progress is reported: PlainInterval is for what is no terminal.
const (
	barInterval   = 100 * time.Millisecond
	PlainInterval = 5 * time.Second
)

// A Progress reports how far a command is: a bar with rate and remaining time on
// a terminal, a plain line now and then elsewhere. Its methods may be called from
// several goroutines. A nil Progress reports nothing.
type Progress struct {
	mu          sync.Mutex
	out         io.Writer
	width       func() int // of the terminal, nil where there is none
	what, unit  string
	anchors     int // iterations that read the samples themselves
	done, total int64
	start, last time.Time
}

// NewProgress starts reporting to out. What names the work in a few words; unit
// is what is counted, in the form "it" of "20 it/s".
func NewProgress(out io.Writer, what, unit string, total int64) *Progress {
	now := time.Now()
	p := &Progress{out: out, what: what, unit: unit, total: total, start: now, last: now}
	if Is(out) {
		p.width = func() int { return width(out) }
	}
	return p
}

// Add reports that n more units are done.
func (p *Progress) Add(n int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	interval := PlainInterval
	if p.width != nil {
		interval = barInterval
	}
	now := time.Now()
	if p.done < 1 || p.done >= p.total || now.Sub(p.last) < interval {
		return
	}
	p.last = now
	spent := now.Sub(p.start)
	left := time.Duration(float64(spent) * float64(p.total-p.done) / float64(p.done)).Round(time.Second)
	more := fmt.Sprintf("%s left", left)
	if p.anchors > 0 {
		more += ", " + text.Plural(p.anchors, "anchor")
	}
	if p.width == nil {
		fmt.Fprintf(p.out, "%s: %d %%, %s\n", p.what, 100*p.done/p.total, more)
		return
	}
	rate := strconv.FormatFloat(float64(p.done)/spent.Seconds(), 'f', 0, 64)
	if p.done < 100*int64(spent.Seconds()) {
		rate = fmt.Sprintf("%.2g", float64(p.done)/spent.Seconds())
	}
	// A terminal that cannot show the bar is no reason to stop.
	fmt.Fprintf(p.out, "\r\x1b[K%s", barLine(p.width(), p.what, float64(p.done)/float64(p.total), fmt.Sprintf("%s %s/s, %s", rate, p.unit, more)))
}

// Anchors reports that n more of the iterations have read the samples themselves, and not
// their copies in 16 bits.
func (p *Progress) Anchors(n int) {
	if p == nil {
		return
	}
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

// Close removes the bar. Lines of other output may follow.
func (p *Progress) Close() {
	if p != nil && p.width != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// Stages show the progress of work that has several stages, one after the other.
type Stages struct {
	Out   io.Writer
	stage string
	done  int
	bar   *Progress
}

// Show reports that so many of the iterations of a stage are done.
func (s *Stages) Show(stage string, done, total int) {
	if stage != s.stage {
		s.Close()
		s.stage, s.done = stage, 0
		s.bar = NewProgress(s.Out, stage, "it", int64(total))
	}
	s.bar.Add(int64(done - s.done))
	s.done = done
}

// Anchors reports that n more of the iterations have read the samples themselves.
func (s *Stages) Anchors(n int) { s.bar.Anchors(n) }

// Close removes the bar of the last stage.
func (s *Stages) Close() { s.bar.Close() }
