package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	interval  = 100 * time.Millisecond // between two updates
	lineAfter = 5 * time.Second        // a longer stage gets a line elsewhere than on a terminal
)

// A Progress reports the stages of a command: as a bar on a terminal, and elsewhere by one line for a stage
// that takes long. Its methods may be called from several goroutines.
type Progress struct {
	out      io.Writer
	terminal int // descriptor of out, -1 elsewhere
	stages   []string
	stop     chan struct{}

	mu     sync.Mutex
	name   string  // of the current stage, empty before the first
	share  float64 // of the stage that is done, negative if unknown
	detail string  // about the stage, where the share is unknown
	start  time.Time
	said   bool // there is a line about the stage
	over   bool
}

// NewProgress starts to report to out, until Close. Stages that are listed are numbered.
func NewProgress(out io.Writer, stages ...string) *Progress {
	p := &Progress{out: out, terminal: -1, stages: stages, stop: make(chan struct{})}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.terminal = int(f.Fd())
	}
	go func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case now := <-ticks.C:
				p.show(now)
			case <-p.stop:
				return
			}
		}
	}()
	return p
}

// Stage sets the current stage and the share of it that is done, negative if unknown.
func (p *Progress) Stage(name string, share float64) { p.set(name, share, "") }

// Detail sets the current stage and words about it, which may be empty. The share that is done is unknown.
func (p *Progress) Detail(name, detail string) { p.set(name, -1, detail) }

func (p *Progress) set(name string, share float64, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != p.name {
		p.name, p.start, p.said = name, time.Now(), false
	}
	p.share, p.detail = share, detail
}

// show reports the current stage at a time.
func (p *Progress) show(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stage, spent := p.name, now.Sub(p.start)
	if number := slices.Index(p.stages, p.name) + 1; number > 0 {
		stage = fmt.Sprintf("%d of %d: %s", number, len(p.stages), p.name)
	}
	switch {
	case p.over || p.name == "":
	case p.terminal >= 0:
		width, _, _ := term.GetSize(p.terminal) // 0 after an error
		fmt.Fprintf(p.out, "\r\x1b[K%s", barLine(width, stage, p.detail, p.share, spent))
	case !p.said && spent >= lineAfter:
		p.said = true
		fmt.Fprintf(p.out, "stage %s\n", stage)
	}
}

// barLine returns an ASCII line narrower than the terminal: the stage, a bar, the share and the time left; or
// the stage, the detail and the time so far where the share is unknown. A narrow terminal gets fewer of them.
func barLine(width int, stage, detail string, share float64, spent time.Duration) string {
	more := fmt.Sprintf("%s so far", spent.Round(time.Second))
	if detail != "" {
		more = detail + ", " + more
	}
	if share > 0 {
		left := time.Duration(float64(spent) * (1 - share) / share)
		more = fmt.Sprintf("%.0f %%, %s left", 100*share, left.Round(time.Second))
	}
	line := stage
	if bar := min(width-1-len(stage)-len(more)-len(" [] "), 60); bar >= 5 && share >= 0 {
		full := int(min(share, 1) * float64(bar))
		line += " [" + strings.Repeat("#", full) + strings.Repeat(".", bar-full) + "]"
	}
	line += " " + more
	return line[:max(0, min(len(line), width-1))]
}

// Close ends the reports and removes the bar. Other output may follow.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	close(p.stop)
	if p.terminal >= 0 {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
