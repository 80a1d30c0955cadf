package options

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
)

// data says which options go with the kind of file that --data is, and sets the defaults
// that depend on it.
func (f *Flags) data() error {
	path := f.Files.Data
	if path == "" {
		return Usagef("--data is missing: need a table (.csv) or a problem file (.npz)")
	}
	if !IsProblem(path) {
		switch {
		case f.Table.Task == "" || f.Table.Target == "":
			return Usagef("a table needs --task COLUMN and --target COLUMN")
		case f.Table.Node != "" && f.Changed("nodes"):
			return Usagef("only one of --node and --nodes may be given")
		}
		return nil
	}
	f.Config.Plain, f.Config.Options.MixedPrecision = true, f.Table.Folder != ""
	for _, o := range f.options {
		switch {
		case o.Tables && f.Changed(o.Name):
			return Usagef("--%s is for tables, but %s is a problem file", o.Name, path)
		case o.Problem != "" && !f.Changed(o.Name):
			if err := f.set(o.Name, o.Problem); err != nil {
				return err
			}
		}
	}
	if f.text("rank") == "0" {
		return Usagef("--rank is 0: a problem file needs one of at least 1")
	}
	return nil
}

// split says which options about rows that are held out go together.
func (f *Flags) split() error {
	count := 0
	for _, name := range []string{"test-fraction", "test-rows-per-task", "train-rows-per-task", "holdout"} {
		if f.Changed(name) {
			count++
		}
	}
	s := &f.Split
	s.Last = f.Table.Time != ""
	switch {
	case count > 1:
		return Usagef("only one of --test-fraction, --test-rows-per-task, --train-rows-per-task and --holdout may be given")
	case s.Last && f.Changed("holdout"):
		return Usagef("only one of --test-last and --holdout may be given")
	case s.Last && f.Changed("test-fraction") && s.TestFraction == 0:
		return Usagef("--test-fraction is 0: nothing is held out, so leave out --test-last")
	case f.Table.Group != "" && !s.Last && (s.TestRows != 0 || s.TrainRows != 0):
		return Usagef("--folds-by holds out groups of rows as a whole: use --test-fraction with it, not a number of rows")
	}
	if count == 1 && !f.Changed("test-fraction") {
		s.TestFraction = 0
	}
	return nil
}

// private says what goes with a privacy budget: what would tell more, or spend it again, does not.
func (f *Flags) private() error {
	for _, name := range []string{"delta", "colluding"} {
		if f.Changed(name) && !f.Changed("epsilon") {
			return Usagef("--%s is for --epsilon", name)
		}
	}
	if !f.Changed("epsilon") {
		return nil
	}
	if f.text("rank") == auto {
		return Usagef("--epsilon needs --rank N: choosing the rank by the data would cost budget")
	}
	for _, o := range []struct{ name, why string }{
		{"agree", "adds up along a tree: gossip would tell more"}, {"compress", "adds up along a tree, in full"},
		{"method", "has a method of its own"}, {"auto", "has a method of its own"}, {"rounds", "adds up along a tree"}, {"init-rounds", "adds up along a tree"},
		{"power-iterations", "has no iterations"}, {"iterations", "has no iterations"}, {"tolerance", "has no iterations"}, {"step", "has no iterations"},
		{"starts", "has no iterations"}, {"trace", "has no iterations"}, {"normalize-tasks", "does not divide tasks by their size"},
		{"checkpoint", "has no iterations to go on from, and a second run would spend the budget again"},
		{"continue", "continues no model: that was made of the rows"}, {"intercept", "lets every process find the ridges of its own tasks"},
		{"ridge", "lets every process find the ridges of its own tasks"}, {"mean-ridge", "lets every process find the ridges of its own tasks"},
		{"curve", "looks at no column before the model: make columns of squares or splines"},
		{"log-target", "looks at no target before the model: make a column of its logarithm"},
		{"common-noise", "lets every process find the noise of its own tasks, one for all"},
		{"sample-weights", "knows no weights of rows"}, {"folds-by", "keeps no groups together: what is held out would depend on other tasks"},
	} {
		if flag := f.Set.Lookup(o.name); flag != nil && flag.Changed && (o.name != "agree" || flag.Value.String() != consensus.Tree.String()) {
			return Usagef("--epsilon %s: drop it or --%s", o.why, o.name)
		}
	}
	return nil
}

// method chooses the method and how nodes agree, as far as that was not said: owners of tables
// agree along a tree, in codes if there are some, and gossip only if they ask for it. A problem
// file is for trials of the methods of the paper, which gossip.
func (f *Flags) method() error {
	o, problem := &f.Config.Options, IsProblem(f.Files.Data)
	// One process could do several rounds at once, with other bits than several processes.
	o.Agreement = consensus.Agreement{RoundByRound: !problem}
	o.EveryIteration = o.Tolerance < 0 || f.Files.Trace != "" && !f.Changed("tolerance")
	if f.Config.Auto {
		for _, name := range []string{"method", "rounds", "agree", "compress"} {
			if f.Changed(name) {
				return Usagef("--auto chooses the method, and how nodes agree: drop it or --%s", name)
			}
		}
		return f.set("method", "")
	}
	tree := consensus.Tree.String()
	method, agree, compress := f.text("method"), f.text("agree"), f.text("compress")
	if agree == "" && (!problem || method == difalt.Accelerated.String() || method == difalt.Newton.String()) {
		agree = tree
	}
	agree = cmp.Or(agree, consensus.Plain.String())
	if method == "" && agree != tree {
		method, compress = difalt.AcceleratedTracking.String(), cmp.Or(compress, "int8")
	}
	for _, name := range []string{"rounds", "init-rounds"} {
		if agree == tree && f.Changed(name) {
			return Usagef("--%s is for gossip, but nodes agree along a tree: drop it, or add --agree plain or chebyshev", name)
		}
	}
	return errors.Join(f.set("method", cmp.Or(method, difalt.Accelerated.String())), f.set("agree", agree), f.set("compress", compress))
}

// reading checks what only all options about it say together.
func (f *Flags) reading() error {
	if err := f.Config.Options.Agreement.Validate(); err != nil {
		return Usagef("--agree and --compress: %w", err)
	}
	if err := f.Table.Validate(); err != nil {
		return &UsageError{WithHint(err)}
	}
	return nil
}

// node says which options a node cannot have.
func (f *Flags) node() error {
	switch path := f.Files.Data; {
	case IsProblem(path):
		return Usagef("--data: a node reads a table, but %s is a problem file", path)
	case path == "-" && f.Checkpoints.Folder != "":
		return Usagef("--data is the standard input, which cannot be read again: --checkpoint needs a file")
	case f.Checkpoints.Folder == "" && f.Changed("every"):
		return Usagef("--every needs --checkpoint")
	}
	return nil
}

// numbered matches what stands for the number of a process in a name.
var numbered = regexp.MustCompile(`%(0\d)?d`)

// engine says which options go with the engine of a node: cluster.json says who is who to those
// that talk over gRPC, and the launcher to those that talk over MPI.
func (f *Flags) checkEngine() error {
	for _, o := range f.options {
		if o.Engine != "" && o.Engine != f.Engine && f.Changed(o.Name) {
			return Usagef("--%s is for --engine %s", o.Name, o.Engine)
		}
	}
	if f.Engine != "mpi" {
		return nil
	}
	for _, name := range []string{"data", "model", "trace", "metrics"} {
		if value := f.text(name); value != "" && (strings.Count(value, "%") != 1 || !numbered.MatchString(value)) {
			return Usagef("--%s is %q: all processes have one command line, so it needs one %%d (or %%03d), which stands for the number of the process, from 0", name, value)
		}
	}
	return nil
}

// mark parses a character that may have a name.
func mark(name string, named rune) func(string) (rune, error) {
	return func(s string) (rune, error) {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case name != "" && s == name:
			return named, nil
		case n != len(s) && name != "":
			return 0, want("one character, or " + name)
		case n != len(s):
			return 0, want("one character")
		}
		return r, nil
	}
}

// WithHint adds to an error about a table which option helps.
func WithHint(err error) error {
	var format *dataset.FormatError
	hint := ""
	switch {
	case errors.Is(err, dataset.ErrMissing):
		hint = "--missing drop leaves such rows out, --missing mean fills in the mean of the column"
	case !errors.As(err, &format):
		return err
	case format.Option == "Categorical":
		columns, pronoun, levels := text.ShellWord(strings.Join(format.Values, ",")), "it holds", ""
		if len(format.Values) > 1 {
			pronoun, levels = "they hold", fmt.Sprintf("%d columns are text: ", len(format.Values))
		}
		hint = fmt.Sprintf("%suse --categorical %s if %s levels, or --drop %s", levels, columns, pronoun, columns)
	case format.Option == "Drop":
		hint = "use --drop " + text.ShellWord(format.Values[0])
	case format.Option == "NoHeader":
		hint = "if it is one, use --no-header, and the columns are c0, c1, ..."
	default:
		var list []string
		for _, v := range format.Values {
			list = append(list, fmt.Sprintf("--%s %s", strings.ToLower(format.Option), markWord(v)))
		}
		hint = "say which with " + strings.Join(list, " or ")
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
