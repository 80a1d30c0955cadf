package federate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
)

// FailureMessage is that of the last line of a node's log in JSON, if the node has failed.
const FailureMessage = "failed"

// liveInterval is how often a board is drawn on a terminal.
const liveInterval = 250 * time.Millisecond

// A Board shows a line a process: redrawn in place on a terminal, elsewhere printed now
// and then when it has changed.
type Board struct {
	out      io.Writer
	live     bool // out is a terminal
	lines    []*line
	interval time.Duration // how often it is drawn
	drawn    int           // lines on the terminal
	last     string
}

// NewBoard returns the board of some nodes.
func NewBoard(out io.Writer, names []string) *Board {
	b := &Board{out: out, live: terminal.Is(out), interval: terminal.PlainInterval}
	if b.live {
		b.interval = liveInterval
	}
	for _, name := range names {
		b.lines = append(b.lines, &line{name: name})
	}
	return b
}

// A line is what a process has last said of itself.
type line struct {
	name  string
	mu    sync.Mutex
	state logLine
	event string // of the connections
	error string
	broke bool // it ended as Go programs do whose runtime gives up, with a trace
	ended bool
	// warnings that it has logged.
	warnings []string
}

// A logLine is a line of the log of a node that status has written.
type logLine struct {
	Level    string  `json:"level"`
	Message  string  `json:"msg"`
	Stage    string  `json:"stage"`
	Done     int     `json:"done"`
	Total    int     `json:"total"`
	WaitsFor string  `json:"waits_for"`
	Seconds  float64 `json:"seconds"`
	Why      string  `json:"why"`
}

// lastWords begin the last line before the trace of a Go program that breaks off: without memory,
// or by a mistake of ours.
var lastWords = []string{"runtime: ", "runtime/cgo: ", "fatal error: ", "panic: ", "unexpected fault "}

func (l *line) follow(log io.Reader) {
	r := bufio.NewScanner(log)
	r.Buffer(nil, 1<<20)
	for r.Scan() {
		var s logLine
		isLog := json.Unmarshal(r.Bytes(), &s) == nil
		l.mu.Lock()
		switch {
		case !isLog && l.broke: // the trace
		case !isLog && slices.ContainsFunc(lastWords, func(w string) bool { return strings.HasPrefix(r.Text(), w) }):
			l.broke, l.error = true, "the program broke off: "+r.Text()
		case !isLog:
			l.error = strings.TrimPrefix(r.Text(), "difalt: ")
		case s.Message == FailureMessage:
			l.error = s.Why
		case s.Message == statusMessage:
			l.state = s
		case s.Level == slog.LevelWarn.String():
			l.warnings = append(l.warnings, s.Message)
		default:
			l.event = s.Message
		}
		l.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, log) // the process must not wait for us
}

// becameOf returns what has become of the process of a line. The runtime of Go ends with the code of a
// mistake in the command line, which it is not.
func (l *line) becameOf(code int, stdout []byte) End {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broke {
		code = 1
	}
	return End{l.name, code, l.error, stdout, l.warnings}
}

func (l *line) get() (s logLine, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s = l.state
	text = s.Stage
	switch {
	case l.error != "":
		text = l.error
	case l.ended:
		text = "done"
	case s.Stage == "":
		text = "starting"
	case s.Stage == joining:
		text = strings.TrimSpace("joining " + l.event)
	case s.Total > 0:
		text = fmt.Sprintf("%s %d of %d", s.Stage, s.Done, s.Total)
	}
	if l.ended || l.error != "" {
		s.WaitsFor = "" // no more
	}
	if s.WaitsFor != "" {
		text += fmt.Sprintf(", waits %.1f s for %s", s.Seconds, s.WaitsFor)
	}
	return s, text
}

func (b *Board) text() []string {
	width := 0
	for _, l := range b.lines {
		width = max(width, len(l.name))
	}
	var lines []string
	waits := map[string][]string{}
	for _, l := range b.lines {
		s, text := l.get()
		lines = append(lines, fmt.Sprintf("%-*s  %s", width, l.name, text))
		if s.WaitsFor != "" {
			waits[l.name] = strings.Split(s.WaitsFor, ",")
		}
	}
	if edges := blocking(waits); len(edges) > 0 {
		lines = append(lines, "all wait for "+strings.Join(edges, ", "))
	}
	return lines
}

// blocking returns the edges at which the waiting begins: from a node that waits to one
// that does not.
func blocking(waits map[string][]string) (edges []string) {
	for from, list := range waits {
		for _, to := range list {
			if waits[to] == nil {
				edges = append(edges, fmt.Sprintf("%s (edge %s-%s)", to, from, to))
			}
		}
	}
	slices.Sort(edges)
	return edges
}

func (b *Board) draw() {
	lines := b.text()
	text := strings.Join(lines, "\n") + "\n"
	if text == b.last {
		return
	}
	b.last = text
	if !b.live {
		fmt.Fprint(b.out, text)
		return
	}
	if b.drawn > 0 {
		fmt.Fprintf(b.out, "\x1b[%dA\x1b[J", b.drawn)
	}
	columns, rows := terminal.Size(b.out)
	lines = within(lines, columns, rows)
	b.drawn = len(lines)
	fmt.Fprintln(b.out, strings.Join(lines, "\n"))
}

// within cuts lines to what a terminal has room for: none may wrap, or scroll away, since
// all are drawn over. The last line is kept: it says for whom all wait. A size of 0 is not known.
func within(lines []string, columns, rows int) []string {
	if most := rows - 1; most >= 3 && len(lines) > most {
		last := lines[len(lines)-1]
		lines = append(slices.Clone(lines[:most-2]), fmt.Sprintf("... and %d more", len(lines)-most+1), last)
	}
	for i, line := range lines {
		if text := []rune(line); columns > 4 && len(text) >= columns {
			lines[i] = string(text[:columns-4]) + "..."
		}
	}
	return lines
}

// end notes that the process has ended, with an error if it is not nil.
func (l *line) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if err != nil && l.error == "" {
		l.error = err.Error()
	}
}
