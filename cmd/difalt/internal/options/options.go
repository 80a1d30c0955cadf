// Package options is the one table of what fit, node and up can be told on their command
// lines, and of how predict, adapt and describe are told to read a table. A row has all
// that there is to say about an option: its name and default, both ends of its range, what
// it sets, which commands have it, whether it is for tables only, for whom it must be the
// same, and its help. Flags, help, checks, what nodes compare before they train, and what
// makes a checkpoint another one's come from it. A new option is a row, and its use.
package options

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/memory"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/spf13/pflag"
)

// A Command is one that takes its options from the table; a sum is several.
type Command uint16

// The commands that take their options from the table.
const (
	Fit Command = 1 << iota
	Node
	Up
	Predict
	Adapt
	Describe
	ClusterCheck
	ClusterHealth
	SimulateNode

	training = Fit | Node | Up
	readers  = training | Predict | Adapt
	members  = Node | ClusterCheck | SimulateNode // connect to the neighbours
)

// A Scope says for whom an option must be the same.
type Scope uint8

const (
	_ Scope = iota // a row must say it
	// AllNodes of a training have the option alike: they compare it before anything else.
	AllNodes
	// Checkpoint is for what may differ between nodes, but not between the processes of one
	// node that go on from one another's checkpoints.
	Checkpoint
	// Nobody else need have it alike: it changes no result, or others see it by other means.
	Nobody
)

// An Option is a row of the table.
type Option struct {
	Name  string
	Value Value
	// Of are the commands that have it.
	Of Command
	// Same says for whom it must be the same, and Says, if it is set, what of it is compared in
	// place of its text.
	Same Scope
	Says func() string
	// Common options come first in the help of fit, Hidden ones are not in it.
	Common, Hidden bool
	// Tables says that it is for tables, not for problem files.
	Tables bool
	// Problem is the default for a problem file, if it is another one.
	Problem string
	// Engine is the engine of node that alone has a use for it; empty for all of them.
	Engine string
	// Short is a letter that stands for the name; empty for most.
	Short string
	Usage string
}

// A Group has options as flags, in the order of the help.
type Group struct {
	Set     *pflag.FlagSet
	options []Option
}

// NewGroup returns options as flags.
func NewGroup(rows []Option) *Group {
	g := &Group{pflag.NewFlagSet("", pflag.ContinueOnError), rows}
	g.Set.SortFlags = false
	for _, o := range rows {
		o.Value.add(g.Set, o.Name, o.Usage)
		flag := g.Set.Lookup(o.Name)
		flag.Hidden, flag.Shorthand = o.Hidden, o.Short
	}
	return g
}

// Flags are the options of one of the commands that share them, with the values that they have.
type Flags struct {
	Training
	*Group
	command Command
}

// New returns the options of a command with their defaults.
func New(c Command) *Flags {
	f := &Flags{command: c}
	f.Config.Options = fit.DefaultOptions(0)
	var rows []Option
	for _, o := range f.Training.table() {
		if o.Of&c != 0 {
			rows = append(rows, o)
		}
	}
	f.Group = NewGroup(rows)
	return f
}

// Changed reports whether an option was given.
func (g *Group) Changed(name string) bool { return g.Set.Changed(name) }

// Common reports whether an option stands on the first page of the help.
func (f *Flags) Common(name string) bool {
	return slices.ContainsFunc(f.options, func(o Option) bool { return o.Name == name && o.Common })
}

// Resolve checks the options as far as that is possible without the data, and sets all
// that they stand for. An error is a *UsageError.
func (f *Flags) Resolve() error {
	for _, rule := range []struct {
		of    Command
		check func() error
	}{
		{f.command, f.CheckRanges}, {Node | Up, f.node}, {training, f.data}, {training, f.split}, {training, f.private}, {training, f.method},
		{f.command, f.parse}, {readers | Describe, f.reading}, {Node, f.checkEngine},
	} {
		if f.command&rule.of == 0 {
			continue
		}
		if err := rule.check(); err != nil {
			return err
		}
	}
	f.Split.Seed = f.Config.Options.Seed
	return nil
}

// CheckRanges checks the numbers that were given.
func (g *Group) CheckRanges() error {
	for _, o := range g.options {
		if o.Value.check == nil || !g.Changed(o.Name) {
			continue
		}
		if wrong := o.Value.check(); wrong != "" {
			return Usagef("--%s %s", o.Name, wrong)
		}
	}
	return nil
}

// parse sets what words stand for.
func (g *Group) parse() error {
	for _, o := range g.options {
		if o.Value.parse == nil {
			continue
		}
		switch err := o.Value.parse().(type) {
		case nil:
		case want:
			return Usagef("--%s is %q: want %s", o.Name, g.text(o.Name), string(err))
		default:
			return Usagef("--%s: %w", o.Name, err)
		}
	}
	return nil
}

func (g *Group) text(name string) string { return g.Set.Lookup(name).Value.String() }

// set gives an option a value that nobody has typed.
func (g *Group) set(name, value string) error { return g.Set.Lookup(name).Value.Set(value) }

// Settings returns the options of a scope with their values, after Resolve.
func (f *Flags) Settings(s Scope) (all []wire.Setting) {
	for _, o := range f.options {
		if o.Same != s {
			continue
		}
		value := f.text(o.Name)
		if o.Says != nil {
			value = o.Says()
		}
		all = append(all, wire.Setting{Name: "--" + o.Name, Value: value})
	}
	return all
}

// Arguments returns, as a command line, the options that were given and that another
// command has too, but for some.
func (f *Flags) Arguments(to Command, but ...string) (args []string) {
	return f.Given(func(o Option) bool { return o.Of&to != 0 && !slices.Contains(but, o.Name) })
}

// Given returns, as a command line, the options that were given and are chosen.
func (g *Group) Given(chosen func(o Option) bool) (args []string) {
	for _, o := range g.options {
		if g.Changed(o.Name) && chosen(o) {
			args = append(args, "--"+o.Name+"="+argument(g.Set.Lookup(o.Name).Value))
		}
	}
	return args
}

// argument returns what sets a flag to the value that it has.
func argument(v pflag.Value) string {
	if s := v.String(); v.Type() == "stringSlice" {
		return s[1 : len(s)-1] // as CSV, without brackets
	}
	return v.String()
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

// commonFolds is a number of folds that is no mistake on any table: the default is below it.
const commonFolds = 100

// algorithm returns the options of the algorithm. Those of the flags keep the tolerance as it was
// typed, for children.
func (f *Flags) algorithm() difalt.Options {
	o := f.Config.Options
	if o.EveryIteration {
		o.Tolerance = 0
	}
	return o
}

// ConfigOf returns what fit.Fit wants of a table that was read by the options, after Resolve.
// Its network is for the caller to set.
func (f *Flags) ConfigOf(t *dataset.Table) (*fit.Config, error) {
	c := f.Config
	c.TaskColumn, c.TargetColumn, c.Weights = f.Table.Task, f.Table.Target, t.Weights()
	c.Options = f.algorithm()
	switch {
	case len(c.Curves) == 0 || slices.Equal(c.Curves, []string{auto}):
		c.Curves = nil
	case slices.Equal(c.Curves, []string{"none"}):
		c.Curves = []string{}
	}
	var err error
	if path := f.Files.Continue; path != "" {
		if c.Continue, err = model.Load(path); err != nil {
			return nil, fmt.Errorf("--continue: %w", err)
		}
	}
	if most := max(t.Rows(), commonFolds); c.Folds > most {
		return nil, Usagef("--folds is %d: want at most %d for so few rows", c.Folds, most)
	}
	if n := len(t.Features()); c.Rank > n {
		return nil, Usagef("--rank is %d: there are %d features", c.Rank, n)
	}
	if c.Train, err = t.Split(f.Split); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Files.Data, err)
	}
	if f.Table.Folder == "" { // or most of it lies there
		what := fmt.Sprintf("%s: %d tasks of %d rows with %d features", f.Files.Data, len(t.Tasks()), t.Rows(), len(t.Features()))
		if err := memory.Check(fit.Memory(t, &c), what); err != nil {
			return nil, err
		}
	}
	return &c, nil
}
