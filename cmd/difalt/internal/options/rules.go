package options

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// data checks the options that describe the table.
func (f *Flags) data() error {
	if IsProblem(f.Files.Data) {
		return Usagef("--data is %s, a problem or model file, and this command reads tables: \"difalt run --data %s\" reads problem "+
			"files, \"difalt model show %s\" models", f.Files.Data, f.Files.Data, f.Files.Data)
	}
	if err := f.Table.Validate(); err != nil {
		return &UsageError{WithHint(err)}
	}
	return nil
}

// split checks that at most one option chooses the rows that are held out.
func (f *Flags) split() error {
	count := 0
	for _, name := range []string{"test-fraction", "train-rows-per-task", "holdout"} {
		if f.Set.Changed(name) {
			count++
		}
	}
	if count > 1 {
		return Usagef("only one of --test-fraction, --train-rows-per-task and --holdout may be given")
	}
	if count == 1 && !f.Set.Changed("test-fraction") {
		f.Split.TestFraction = 0
	}
	return nil
}

// private checks the options of a privacy budget.
func (f *Flags) private() error {
	for _, name := range []string{"delta", "colluding"} {
		if f.Set.Changed(name) && !f.Set.Changed("epsilon") {
			return Usagef("--%s needs --epsilon", name)
		}
	}
	if f.Set.Changed("epsilon") && f.Model.Rank == nil {
		return Usagef("--epsilon needs --rank N: choosing the rank from the data would cost budget")
	}
	return nil
}

// numbered matches the place of the process number in a name.
var numbered = regexp.MustCompile(`%(0\d)?d`)

// engine checks the options against the engine: cluster.json names the nodes for gRPC, the launcher numbers
// them for MPI.
func (f *Flags) engine() error {
	if f.Member.Engine != "mpi" {
		return nil
	}
	for _, name := range []string{"cluster", "key", "cert", "listen"} {
		if f.Set.Changed(name) {
			return Usagef("--%s is for --engine grpc", name)
		}
	}
	for _, name := range []string{"data", "model", "metrics"} {
		value := f.Set.Lookup(name).Value.String()
		if value != "" && (strings.Count(value, "%") != 1 || !numbered.MatchString(value)) {
			return Usagef("--%s is %q: all processes have one command line, so it needs one %%d (or %%03d) for the number of the "+
				"process, from 0", name, value)
		}
	}
	return nil
}

// WithHint adds to an error about a table the option that helps.
func WithHint(err error) error {
	var format *dataset.FormatError
	hint := ""
	switch {
	case errors.Is(err, dataset.ErrMissing):
		hint = "--missing drop leaves such rows out, --missing mean fills in the mean of the column"
	case !errors.As(err, &format):
		return err
	case format.Option == "Categorical":
		columns, pronoun := text.ShellWord(strings.Join(format.Values, ",")), "it is"
		if len(format.Values) > 1 {
			pronoun = "they are"
		}
		hint = fmt.Sprintf("use --categorical %s if %s categorical, or --drop %s", columns, pronoun, columns)
	case format.Option == "Drop":
		hint = "use --drop " + text.ShellWord(format.Values[0])
	case format.Option == "NoHeader":
		hint = "a table needs a header line with the names of its columns"
	default:
		var list []string
		for _, v := range format.Values {
			if v == "\t" {
				v = "tab"
			}
			list = append(list, fmt.Sprintf("--%s %s", strings.ToLower(format.Option), text.ShellWord(v)))
		}
		hint = "use " + strings.Join(list, " or ")
	}
	return fmt.Errorf("%w; %s", err, hint)
}
