// Package options is the one table of the flags of fit, node, up, predict, adapt, model show and cluster. A
// row holds all there is to an option: its name and default, both ends of its range, the variable that it
// sets, the commands that have it, and its help. Flags, help and checks come from the rows. The rows of
// simulate and run are beside those commands.
package options

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// A Command is one of the commands of the table; a sum is several.
type Command uint16

// The commands of the table.
const (
	Fit Command = 1 << iota
	Node
	Up
	Predict
	Adapt
	Show
	ClusterNew
	ClusterCheck
	ClusterKey

	training = Fit | Node | Up
	owners   = Node | Up
	readers  = training | Predict | Adapt
	members  = Node | ClusterCheck // connect to the neighbours
)

// An Option is a row of the table.
type Option struct {
	Name  string
	Value Value
	// Of are the commands that have it.
	Of Command
	// GRPC options belong to that engine of node.
	GRPC  bool
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
	}
	return g
}

// Flags are the options of a command, with their values.
type Flags struct {
	Values
	*Group
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
	f.Group = NewGroup(rows)
	return f
}

// Changed reports whether an option was given.
func (g *Group) Changed(name string) bool { return g.Set.Changed(name) }

// Resolve checks the options as far as that is possible without the data, and sets the variables of options
// that are words. An error is a *UsageError.
func (f *Flags) Resolve() error {
	for _, rule := range []struct {
		of    Command
		check func() error
	}{
		{f.command, f.CheckRanges}, {f.command, f.Parse}, {readers, f.data}, {training, f.split}, {owners, f.private}, {Node, f.engine},
	} {
		if f.command&rule.of == 0 {
			continue
		}
		if err := rule.check(); err != nil {
			return err
		}
	}
	f.Split.Seed = f.Seed
	return nil
}

// CheckRanges checks the numbers that were given. An error is a *UsageError.
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

// Parse sets the variables of options that are words. An error is a *UsageError.
func (g *Group) Parse() error {
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

// Given returns, as a command line, the options that were given and are chosen.
func (g *Group) Given(chosen func(o Option) bool) (args []string) {
	for _, o := range g.options {
		if g.Changed(o.Name) && chosen(o) {
			args = append(args, "--"+o.Name+"="+argument(g.Set.Lookup(o.Name).Value))
		}
	}
	return args
}

// argument returns the text that sets a flag to its present value.
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
