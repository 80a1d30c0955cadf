// Package flagtable is the one table of the flags of fit, node, up, predict, adapt, model show and cluster,
// and of those of run that make it a node. A flag with another meaning in other commands has a row for each
// meaning. The rows of simulate and run are beside those commands.
package flagtable

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
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
	Check
	Show
	ClusterNew
	ClusterKey
	Run

	training = Fit | Node | Up
	together = Node | Up
	readers  = training | Predict | Adapt | Check
	columns  = training | Check // read tables whose columns they do not know
	members  = Node | Run       // connect to the neighbours
)

// A row of the table is an option of some commands.
type row struct {
	name     string
	value    *options.Value
	of       Command
	required bool
	usage    string
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
	if c == Predict {
		f.Table.Missing, f.Table.NewLevels = dataset.MissingDrop, true
	}
	var rows []options.Option
	for _, r := range f.table() {
		if r.of&c != 0 {
			rows = append(rows, options.Option{Name: r.name, Value: r.value, Required: r.required, Usage: r.usage})
		}
	}
	f.Set = options.FlagSet(rows)
	return f
}

// Resolve checks the options against each other, as far as that is possible without the data. An error is a
// *cli.Error.
func (f *Flags) Resolve() error {
	f.Split.Seed = f.Seed
	given := f.Set.Changed
	if f.command&readers != 0 {
		if f.Files.Data == nil {
			return cli.Usagef("no table is named: give a FILE or several, or a pattern with --data")
		}
		for _, path := range f.Files.Data {
			if options.IsProblem(path) {
				return cli.Usagef("%[1]s is a problem or model file, and this command reads tables: \"difalt run --data %[1]s\" reads "+
					"problem files, \"difalt model show %[1]s\" models", path)
			}
		}
		if err := f.Table.Validate(); err != nil {
			return cli.Usagef("%w", WithHint(err))
		}
	}
	if given("features") && given("drop") {
		return cli.Usagef("only one of --features and --drop may be given")
	}
	if given("holdout") {
		if given("test-fraction") {
			return cli.Usagef("only one of --test-fraction and --holdout may be given")
		}
		f.Split.TestFraction = 0
	}
	for _, name := range []string{"delta", "colluding"} {
		if given(name) && !given("epsilon") {
			return cli.WrongFlag(name, "it needs --epsilon")
		}
	}
	if given("epsilon") && f.Model.LogTarget {
		return cli.WrongFlag("log-target", "private training does not model the logarithm of the target")
	}
	if given("epsilon") && f.Model.Rank == nil {
		return cli.WrongFlag("epsilon", "it needs --rank N: choosing the rank from the data would cost budget")
	}
	for _, name := range []string{"cluster", "key", "listen"} {
		if f.Member.Engine == "mpi" && given(name) {
			return cli.WrongFlag(name, "it is for --engine grpc")
		}
	}
	return nil
}

// longestMark is the number of bytes of a cell that may mark missing values.
const longestMark = 30

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
	columns := text.ShellWord(strings.Join(format.Values, ","))
	switch format.Option {
	case "Categorical":
		list = []string{fmt.Sprintf("--categorical %s for categories", columns), "--drop " + columns}
		if format.NA != "" && len(format.NA) <= longestMark && !strings.ContainsAny(format.NA, ",\"\r\n") {
			list = slices.Insert(list, 1, fmt.Sprintf("--na %s for a missing value", text.ShellWord(format.NA)))
		}
	case "Texts":
		list = []string{"--drop " + columns, fmt.Sprintf("--categorical %s if they are categories", columns)}
	}
	if n := len(list) - 1; n > 1 {
		list = []string{strings.Join(list[:n], ", "), list[n]}
	}
	return fmt.Errorf("%w; use %s", err, strings.Join(list, " or "))
}
