// Package options is the one table of the flags of fit, node, up, predict, adapt, model show and cluster. A
// row holds all there is to a flag of some commands: its name, default and range, the variable that it sets,
// and its help. A flag with another meaning in other commands has a row for each meaning. The rows of
// simulate and run are beside those commands.
package options

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Command is one of the commands of the table; a sum is several.
type Command uint16

// The commands of the table. Of run it has the flags of a node.
const (
	Fit Command = 1 << iota
	Node
	Up
	Predict
	Adapt
	Show
	ClusterNew
	ClusterKey
	Run

	training = Fit | Node | Up
	together = Node | Up
	readers  = training | Predict | Adapt
	members  = Node | Run // connect to the neighbours
)

// An Option is a row of the table.
type Option struct {
	Name  string
	Value *Value
	// Of are the commands that have it.
	Of       Command
	Required bool
	Usage    string
}

// Row returns an option of a command outside the table.
func Row(name string, v *Value, usage string) Option {
	return Option{Name: name, Value: v, Usage: usage}
}

// FlagSet returns options as flags, in the order of the help.
func FlagSet(rows []Option) *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	for _, o := range rows {
		if o.Required {
			o.Usage += " (required)"
		}
		f := set.VarPF(o.Value, o.Name, "", o.Usage)
		if o.Value.kind == boolean {
			f.NoOptDefVal = "true"
		}
		if o.Required {
			f.Annotations = map[string][]string{cobra.BashCompOneRequiredFlag: {"true"}}
		}
	}
	return set
}

// Flags are the options of a command, with their values.
type Flags struct {
	Values
	Set     *pflag.FlagSet
	command Command
}

// New returns the options of a command with their defaults.
func New(c Command) *Flags {
	f := &Flags{command: c}
	var rows []Option
	for _, o := range f.table() {
		if o.Of&c != 0 {
			rows = append(rows, o)
		}
	}
	f.Set = FlagSet(rows)
	return f
}

// Given returns, as a command line in the order of the help, the flags of a set that were given.
func Given(set *pflag.FlagSet) (args []string) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// A UsageError is a mistake in the command line.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// IsProblem reports whether a path names a problem file rather than a table.
func IsProblem(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npz") }

// Resolve checks the options against each other, as far as that is possible without the data. An error is a
// *UsageError.
func (f *Flags) Resolve() error {
	f.Split.Seed = f.Seed
	given := f.Set.Changed
	if f.command&readers != 0 {
		if IsProblem(f.Files.Data) {
			return Usagef("--data is %s, a problem or model file, and this command reads tables: \"difalt run --data %s\" reads problem "+
				"files, \"difalt model show %s\" models", f.Files.Data, f.Files.Data, f.Files.Data)
		}
		if err := f.Table.Validate(); err != nil {
			return &UsageError{WithHint(err)}
		}
	}
	if given("holdout") {
		if given("test-fraction") {
			return Usagef("only one of --test-fraction and --holdout may be given")
		}
		f.Split.TestFraction = 0
	}
	for _, name := range []string{"delta", "colluding"} {
		if given(name) && !given("epsilon") {
			return Usagef("--%s needs --epsilon", name)
		}
	}
	if given("epsilon") && f.Model.Rank == nil {
		return Usagef("--epsilon needs --rank N: choosing the rank from the data would cost budget")
	}
	for _, name := range []string{"cluster", "key", "listen"} {
		if f.Member.Engine == "mpi" && given(name) {
			return Usagef("--%s is for --engine grpc", name)
		}
	}
	return nil
}

// WithHint adds to an error about a table the option that helps.
func WithHint(err error) error {
	var format *dataset.FormatError
	if errors.Is(err, dataset.ErrMissing) {
		return fmt.Errorf("%w; --missing drop leaves such rows out, --missing mean fills in the mean of the column", err)
	}
	if !errors.As(err, &format) {
		return err
	}
	var list []string
	for _, v := range format.Values {
		list = append(list, fmt.Sprintf("--%s %s", strings.ToLower(format.Option), text.ShellWord(v)))
	}
	if format.Option == "Categorical" {
		columns := text.ShellWord(strings.Join(format.Values, ","))
		list = []string{fmt.Sprintf("--categorical %s for categories", columns), "--drop " + columns}
	}
	return fmt.Errorf("%w; use %s", err, strings.Join(list, " or "))
}
