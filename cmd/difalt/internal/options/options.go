// Package options makes flags of rows. A row holds all there is to a flag of a command: its name, its value
// with default and range, the variable that the value sets, and its help.
package options

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An Option is a row.
type Option struct {
	Name     string
	Value    *Value
	Required bool
	Usage    string
}

// Row returns an option that is not required.
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

// Given returns, as a command line in the order of the help, the flags of a set that were given.
func Given(set *pflag.FlagSet) (args []string) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// IsProblem reports whether a path names a problem file rather than a table.
func IsProblem(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npz") }
