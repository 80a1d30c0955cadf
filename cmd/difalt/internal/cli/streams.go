package cli

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Streams are the standard output and the standard error of a command, and how it writes to them: the flags
// that all commands have.
type Streams struct {
	Out   io.Writer // of the report as text
	Err   io.Writer // of logs, warnings and errors
	JSON  bool      // the report and an error are JSON
	Quiet bool      // no report and no progress, only warnings and errors
	Level slog.Level
}

// levels are the levels of logs, the default first.
var levels = []string{"info", "debug", "warn", "error"}

// addFlags adds the flags of all commands.
func (s *Streams) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&s.JSON, "json", false, "print the report or the error as JSON")
	flags.BoolVar(&s.Quiet, "quiet", false, "print warnings and errors only")
	flags.Var(Parsed(&s.Level, levels[0], parseLevel, levels...), "log-level",
		"log `LEVEL`: debug, info, warn or error")
}

// parseLevel returns the level of a word.
func parseLevel(s string) (level slog.Level, err error) {
	if !slices.Contains(levels, s) {
		return level, fmt.Errorf("must be one of %s", strings.Join(levels, ", "))
	}
	err = level.UnmarshalText([]byte(s))
	return level, err
}

// settle applies what --quiet implies, after the flags were parsed.
func (s *Streams) settle(flags *pflag.FlagSet) {
	if s.Quiet && !flags.Changed("log-level") {
		s.Level = slog.LevelWarn
	}
	if s.Quiet && !s.JSON {
		s.Out = io.Discard
	}
}

// Aside returns the streams of a command that writes its result to the standard output: the report goes to
// the standard error, unless --quiet leaves it out.
func (s *Streams) Aside() *Streams {
	aside := *s
	if !s.Quiet || s.JSON {
		aside.Out = s.Err
	}
	return &aside
}

// Progress returns where a command reports how far it is.
func (s *Streams) Progress() io.Writer {
	if s.Quiet {
		return io.Discard
	}
	return s.Err
}

// Log returns the log of a command.
func (s *Streams) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: s.Level}))
}

// Report prints the report of a command: text writes it in words; v is its content for JSON, a pointer to a
// struct that begins with a Header.
func (s *Streams) Report(v any, text func(w io.Writer)) error {
	if !s.JSON {
		text(s.Out)
		return nil
	}
	return writeJSON(s.Out, v)
}

// A Header is the beginning of a report in JSON.
type Header struct {
	Schema  int    `json:"schema"` // as jsonSchema
	Version string `json:"version"`
	Command string `json:"command"`
}

// NewHeader returns the header of the report of a command.
func NewHeader(command string) Header { return Header{jsonSchema, Version(), command} }
