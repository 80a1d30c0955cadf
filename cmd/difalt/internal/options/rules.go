package options

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// data checks the options that name the table and its columns.
func (f *Flags) data() error {
	switch path := f.Files.Data; {
	case path == "":
		return Usagef("--data is missing: need a table")
	case IsProblem(path):
		return Usagef("--data is %s, a problem or model file, and this command reads tables: \"difalt run\" reads problem files", path)
	case f.command&training != 0 && (f.Table.Task == "" || f.Table.Target == ""):
		return Usagef("a table needs --task COLUMN and --target COLUMN")
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
		if f.Changed(name) {
			count++
		}
	}
	if count > 1 {
		return Usagef("only one of --test-fraction, --train-rows-per-task and --holdout may be given")
	}
	if count == 1 && !f.Changed("test-fraction") {
		f.Split.TestFraction = 0
	}
	return nil
}

// private checks the options of a privacy budget.
func (f *Flags) private() error {
	for _, name := range []string{"delta", "colluding"} {
		if f.Changed(name) && !f.Changed("epsilon") {
			return Usagef("--%s needs --epsilon", name)
		}
	}
	if f.Changed("epsilon") && f.Model.Rank == nil {
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
	for _, o := range f.options {
		if o.GRPC && f.Changed(o.Name) {
			return Usagef("--%s is for --engine grpc", o.Name)
		}
	}
	for _, name := range []string{"data", "model", "metrics"} {
		if value := f.text(name); value != "" && (strings.Count(value, "%") != 1 || !numbered.MatchString(value)) {
			return Usagef("--%s is %q: all processes have one command line, so it needs one %%d (or %%03d) for the number of the "+
				"process, from 0", name, value)
		}
	}
	return nil
}

// mark returns the parser of a character, which may have a name.
func mark(name string, named rune) func(string) (rune, error) {
	wanted := want("one character")
	if name != "" {
		wanted += want(", or " + name)
	}
	return func(s string) (rune, error) {
		if name != "" && s == name {
			return named, nil
		}
		r, n := utf8.DecodeRuneInString(s)
		if n != len(s) {
			return 0, wanted
		}
		return r, nil
	}
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
			list = append(list, fmt.Sprintf("--%s %s", strings.ToLower(format.Option), markWord(v)))
		}
		hint = "use " + strings.Join(list, " or ")
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// markWord returns a mark as one would type it.
func markWord(mark string) string {
	switch mark {
	case "\t":
		return "tab"
	case " ":
		return "space"
	}
	return text.ShellWord(mark)
}
