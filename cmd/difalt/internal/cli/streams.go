package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/spf13/cobra"
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

// addGlobalFlags adds the flags of all commands.
func addGlobalFlags(set *pflag.FlagSet) {
	set.Bool("json", false, "print the report or the error as JSON")
	set.Bool("quiet", false, "print warnings and errors only")
	set.AddFlagSet(options.FlagSet([]options.Option{
		options.Row("log-level", options.OneOf(new(string), "info", "debug", "warn", "error"), "log `LEVEL`: debug, info, warn or error"),
	}))
}

// streamsOf returns the streams of a command whose flags were parsed.
func streamsOf(cmd *cobra.Command) (std Streams, err error) {
	std = Streams{Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr()}
	set := cmd.Flags()
	std.JSON, _ = set.GetBool("json") // a command without a program has none of these flags
	std.Quiet, _ = set.GetBool("quiet")
	if flag := set.Lookup("log-level"); flag != nil {
		if err := std.Level.UnmarshalText([]byte(flag.Value.String())); err != nil {
			return std, WrongValue("log-level", flag.Value, "%w", err)
		}
	}
	if std.Quiet && !set.Changed("log-level") {
		std.Level = slog.LevelWarn
	}
	if std.Quiet && !std.JSON {
		std.Out = io.Discard
	}
	return std, nil
}

// Progress returns where a command reports how far it is.
func (s Streams) Progress() io.Writer {
	if s.Quiet {
		return io.Discard
	}
	return s.Err
}

// Log returns the log of a command.
func (s Streams) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: s.Level}))
}

// Report prints the report of a command: text writes it in words; v is the same in JSON, a pointer to a
// struct that begins with a Header.
func (s Streams) Report(v any, text func(w io.Writer)) error {
	if !s.JSON {
		text(s.Out)
		return nil
	}
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("the report has no form in JSON: %w", err)
	}
	_, err = s.Out.Write(append(content, '\n'))
	return err
}

// A Header is the beginning of a report in JSON.
type Header struct {
	Schema  int    `json:"schema"` // as jsonSchema
	Version string `json:"version"`
	Command string `json:"command"`
}

// NewHeader returns the header of the report of a command.
func NewHeader(command string) Header { return Header{jsonSchema, Version(), command} }
