package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/spf13/pflag"
)

// sharedOptions are the flags of node that all owners must give alike. "cluster new" writes them to
// cluster.json, so that no owner has to give them.
var sharedOptions = []string{
	"task", "target", "features", "drop", "categorical", "numbers", "sample-weights",
	"rank", "no-curves", "log-target", "common-noise", "epsilon", "delta", "colluding",
}

// addSharedFlags adds the flags that all owners must give alike.
func (o *jointOptions) addSharedFlags(flags *pflag.FlagSet) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.addTrainingFlags(all)
	for _, name := range sharedOptions {
		flags.AddFlag(all.Lookup(name))
	}
}

// sharedIn returns the shared options that were given.
func sharedIn(flags *pflag.FlagSet) map[string]cluster.Value {
	given := map[string]cluster.Value{}
	for _, name := range sharedOptions {
		if f := flags.Lookup(name); f.Changed {
			given[name] = cluster.Value(f.Value.String())
		}
	}
	return given
}

// takeShared sets the flags of a node that cluster.json has for all owners. It is an error if this owner has
// given another value.
func takeShared(flags *pflag.FlagSet, path string, training map[string]cluster.Value) error {
	for _, name := range slices.Sorted(maps.Keys(training)) {
		value := string(training[name])
		if !slices.Contains(sharedOptions, name) {
			return cli.WrongFlag("cluster", "%s: the training has an option %q: must be one of %s", path, name,
				strings.Join(sharedOptions, ", "))
		}
		f := flags.Lookup(name)
		if f.Changed && f.Value.String() != value {
			return cli.WrongFlag(name, "it is %s here, and %s in %s for all owners: leave it out", f.Value, value, path)
		}
		if f.Changed {
			continue
		}
		err := flags.Set(name, value)
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = invalid.Unwrap()
		}
		if err != nil {
			return cli.WrongFlag("cluster", "%s: the training has %s %s: %w", path, name, value, err)
		}
	}
	return nil
}

// requireShared reports options without which nothing can be trained, and which neither this owner nor
// cluster.json gives.
func requireShared(flags *pflag.FlagSet) error {
	var missing []string
	for _, name := range []string{"task", "target"} {
		if !flags.Changed(name) {
			missing = append(missing, "--"+name)
		}
	}
	if missing == nil {
		return nil
	}
	return cli.Usagef("%s must be given, here or in cluster.json", strings.Join(missing, " and "))
}
