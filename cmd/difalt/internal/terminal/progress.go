package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Progress is reported as a bar on a terminal, redrawn at an interval, and elsewhere by one
// line for a stage that lasts longer than patience.
const (
	barInterval   = 100 * time.Millisecond
	plainInterval = time.Second
	patience      = 5 * time.Second
)

// A Progress reports the stages of a command. Its methods may be called from several
// goroutines.
type Progress struct {
	out    io.Writer
	live   bool // out is a terminal
	stages []string
	stop   chan struct{}

	mu    sync.Mutex
	name  string // of the current stage, empty before the first
	share float64
	start time.Time
	said  bool // there is a line about the stage
	over  bool
}

// NewProgress starts to report to out, until Close. Stages that are listed are numbered.
func NewProgress(out io.Writer, stages ...string) *Progress {
	p := &Progress{out: out, live: Is(out), stages: stages, stop: make(chan struct{})}
	interval := plainInterval
	if p.live {
		interval = barInterval
	}
	go func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case now := <-ticks.C:
				p.mu.Lock()
				p.show(now)
				p.mu.Unlock()
			case <-p.stop:
				return
			}
		}
	}()
	return p
}

// Stage sets the current stage and the share of it that is done, negative if unknown.
func (p *Progress) Stage(name string, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != p.name {
		p.name, p.start, p.said = name, time.Now(), false
	}
	p.share = share
}

// show reports the current stage at a time.
func (p *Progress) show(now time.Time) {
	if p.over || p.name == "" {
		return
	}
	spent := now.Sub(p.start)
	number := slices.Index(p.stages, p.name) + 1
	if p.live {
		what := p.name
		if number > 0 {
			what = fmt.Sprintf("%d of %d %s", number, len(p.stages), p.name)
		}
		columns, _ := Size(p.out)
		fmt.Fprintf(p.out, "\r\x1b[K%s", barLine(columns, what, p.share, spent))
		return
	}
	if p.said || spent < patience {
		return
	}
	p.said = true
	if number > 0 {
		fmt.Fprintf(p.out, "stage %d of %d: %s\n", number, len(p.stages), p.name)
	} else {
		fmt.Fprintf(p.out, "%s\n", p.name)
	}
}

// barLine returns an ASCII line narrower than the terminal: the stage, a bar, the share
// and the time left. A narrow terminal gets fewer of them.
func barLine(width int, what string, share float64, spent time.Duration) string {
	more := fmt.Sprintf("%s so far", spent.Round(time.Second))
	if share > 0 {
		left := time.Duration(float64(spent) * (1 - share) / share)
		more = fmt.Sprintf("%.0f %%, %s left", 100*share, left.Round(time.Second))
	}
	line := what
	if bar := min(width-1-len(what)-len(more)-len(" [] "), 60); bar >= 5 && share >= 0 {
		full := int(min(share, 1) * float64(bar))
		line += " [" + strings.Repeat("#", full) + strings.Repeat(".", bar-full) + "]"
	}
	line += " " + more
	return line[:max(0, min(len(line), width-1))]
}

func (p *Progress) clear() {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// Close ends the reports and removes the bar. Other output may follow.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.over = true
		p.clear()
		close(p.stop)
	}
}
