package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/fault"
	"github.com/spf13/pflag"
)

// Exit codes other than 0.
const (
	ExitFailure = 1 // a file, its content, memory or a disk has a fault
	ExitUsage   = 2 // the command line is wrong

	ExitPeer        = 3   // another node of the network failed or sent different totals, or refuses this one
	ExitUnconverged = 5   // the result was written, but has not converged; or the iterations diverged
	ExitFault       = 70  // the program has a fault: it has panicked
	ExitHungUp      = 129 // as shells report a program that SIGHUP ended
	ExitInterrupted = 130 // as shells report a program that SIGINT ended
	ExitTerminated  = 143 // as shells report a program that SIGTERM ended
)

// An Error ends a command. Its text and its JSON come from its fields. An Error of another package, such as
// a *transport.PeerError, becomes one at the end of the program.
type Error struct {
	Code  int     // exit code
	Flag  string  // name of the flag that the error is about, without dashes; empty for none
	Value *string // value of the flag, as it was given, where that is the fault; nil for none
	Err   error   // what is wrong; nil if it was printed before
	named bool    // the text of Err names the flag, and others
}

// Error returns "--FLAG is VALUE: what is wrong", without the parts that are empty.
func (e *Error) Error() string {
	s := ""
	switch {
	case e.named:
	case e.Flag != "" && e.Value != nil:
		s = "--" + e.Flag + " is " + text.Value(*e.Value) + ": "
	case e.Flag != "":
		s = "--" + e.Flag + ": "
	}
	if e.Err != nil {
		s += e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether the work was interrupted, for context.Canceled.
func (e *Error) Is(err error) bool { return e.Code == ExitInterrupted && err == context.Canceled }

// Usagef describes a mistake in the command line that is about no flag, or about several.
func Usagef(format string, args ...any) error {
	return &Error{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// WrongFlags describes a mistake in the use of several flags, which the sentence names. In JSON the error is
// about the first of them.
func WrongFlags(first, format string, args ...any) error {
	return &Error{Code: ExitUsage, Flag: first, Err: fmt.Errorf(format, args...), named: true}
}

// WrongFlag describes a mistake in the use of a flag.
func WrongFlag(flag, format string, args ...any) error {
	return &Error{Code: ExitUsage, Flag: flag, Err: fmt.Errorf(format, args...)}
}

// WrongValue describes a value that a flag cannot have.
func WrongValue(flag string, value any, format string, args ...any) error {
	given := fmt.Sprint(value)
	return &Error{Code: ExitUsage, Flag: flag, Value: &given, Err: fmt.Errorf(format, args...)}
}

// NamesFile refuses the standard input as the value of a flag that names a file or a folder to read.
func NamesFile(flag, path string) error {
	if path == atomicfile.Stdout { // the same mark
		return WrongValue(flag, path, "this flag does not read the standard input: name a file or a folder")
	}
	return nil
}

// OfFlag adds to an error the flag that named the file, the folder or the address. Nil stays nil.
func OfFlag(flag string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: ExitCode(err), Flag: flag, Err: err}
}

// Interrupted describes the files that interrupted work left.
func Interrupted(format string, args ...any) error {
	return &Error{Code: ExitInterrupted, Err: fmt.Errorf(format, args...)}
}

// Unconverged describes a result that has not converged.
func Unconverged(format string, args ...any) error {
	return &Error{Code: ExitUnconverged, Err: fmt.Errorf(format, args...)}
}

// OfParameter turns a *difalt.ParameterError into an error about the flag of that name, if the command has
// it.
func OfParameter(flags *pflag.FlagSet, err error) error {
	parameter, ok := errors.AsType[*difalt.ParameterError](err)
	if !ok {
		return err
	}
	flag := kebab(parameter.Name)
	if flags.Lookup(flag) == nil {
		return err
	}
	return WrongValue(flag, parameter.Value, "%s", parameter.Why)
}

// kebab returns the name of the flag for a name in Go: "power-iterations" for "PowerIterations".
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// ExitCode returns the exit code for an error of a command. An interruption ranks above the failure of
// another node, which is often its consequence.
func ExitCode(err error) int {
	own, isOwn := errors.AsType[*Error](err)
	_, peer := errors.AsType[*transport.PeerError](err)
	_, panicked := errors.AsType[*fault.Panic](err)
	switch {
	case err == nil:
		return 0
	case panicked:
		return ExitFault
	case isOwn && own.Code == ExitUsage, errors.Is(err, atomicfile.ErrNoFolder):
		return ExitUsage
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case peer || errors.Is(err, consensus.ErrContradiction) || errors.Is(err, consensus.ErrInconsistent):
		return ExitPeer
	case isOwn:
		return own.Code
	case errors.Is(err, difalt.ErrDiverged):
		return ExitUnconverged
	}
	return ExitFailure
}

// packagePrefixes are left out of messages, where an error of a package describes the fault of a flag.
var packagePrefixes = strings.NewReplacer(": difalt: ", ": ", ": consensus: ", ": ", ": topology: ", ": ")

// longestSentence is the number of bytes of an error that are shown.
const longestSentence = 4000

// sentence returns the message of an error as one line of bounded length without control characters. Errors
// of package difalt carry the prefix with which messages of the program begin.
func sentence(err error) string {
	s := text.Line(packagePrefixes.Replace(strings.TrimPrefix(err.Error(), "difalt: ")))
	if n := len(s); n > longestSentence { // the middle of a name, most likely
		s = strings.ToValidUTF8(s[:longestSentence/2]+"..."+s[n-longestSentence/2:], "")
	}
	return s
}

// jsonSchema is the number of the form of all JSON that the program prints. It grows when a field changes
// its name or its meaning; new fields leave it as it is.
const jsonSchema = 1

// An errorObject is an error in JSON.
type errorObject struct {
	Schema int `json:"schema"`
	Error  struct {
		Code    int     `json:"code"`
		Flag    string  `json:"flag,omitempty"`
		Value   *string `json:"value,omitempty"`
		File    string  `json:"file,omitempty"`
		Line    int     `json:"line,omitempty"`
		Message string  `json:"message"`
		Stack   string  `json:"stack,omitempty"` // of a panic
	} `json:"error"`
}

// Complain prints an error of a program as text or as JSON with its exit code, if there is one that was not
// printed before. A panic has its stack.
func Complain(stderr io.Writer, program string, err error, code int, asJSON bool) {
	own, isOwn := errors.AsType[*Error](err)
	if err == nil || isOwn && own.Err == nil {
		return
	}
	p, panicked := errors.AsType[*fault.Panic](err)
	if !asJSON {
		fmt.Fprintf(stderr, "%s: %s\n", program, sentence(err))
		if panicked {
			fmt.Fprintf(stderr, "%s\n", p.Stack)
		}
		return
	}
	o := errorObject{Schema: jsonSchema}
	o.Error.Code, o.Error.Message = code, sentence(err)
	if panicked {
		o.Error.Stack = string(p.Stack)
	}
	for ; isOwn; own, isOwn = errors.AsType[*Error](own.Err) {
		o.Error.Flag, o.Error.Value = cmp.Or(o.Error.Flag, own.Flag), cmp.Or(o.Error.Value, own.Value)
	}
	at, isPlace := errors.AsType[*place.Error](err)
	// One may have the file, another the line.
	for ; isPlace; at, isPlace = errors.AsType[*place.Error](at.Err) {
		o.Error.File, o.Error.Line = cmp.Or(o.Error.File, at.File), cmp.Or(o.Error.Line, at.Line)
	}
	_ = json.NewEncoder(stderr).Encode(o)
}
