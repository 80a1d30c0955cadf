package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
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
// given another value, and a fault of the file if its options cannot be, each or together.
func takeShared(flags *pflag.FlagSet, path string, training map[string]cluster.Value) error {
	for _, name := range slices.Sorted(maps.Keys(training)) {
		value := string(training[name])
		if !slices.Contains(sharedOptions, name) {
			return wrongTraining(path, "has an option %q: must be one of %s", name, strings.Join(sharedOptions, ", "))
		}
		f := flags.Lookup(name)
		if f.Changed && f.Value.String() != value {
			here, there := text.Value(f.Value.String()), text.Value(value)
			return cli.WrongFlag(name, "it is %s here, and %s in %s for all owners: leave it out", here, there, path)
		}
		if f.Changed {
			continue
		}
		err := flags.Set(name, value)
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = invalid.Unwrap()
		}
		if err != nil {
			return wrongTraining(path, "has %s %s: %w", name, text.Value(value), err)
		}
	}
	return checkTraining(path, training)
}

// checkTraining checks the options that cluster.json has beside each other, without the options of an owner.
func checkTraining(path string, training map[string]cluster.Value) error {
	o := jointOptions{trainingOptions: newTrainingOptions()}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.addSharedFlags(flags)
	for name, value := range training {
		if err := flags.Set(name, string(value)); err != nil {
			return wrongTraining(path, "has %s %s: %w", name, text.Value(string(value)), err)
		}
	}
	if err := o.checkShared(flags); err != nil {
		return wrongTraining(path, "is not possible: %s", err.Error())
	}
	return nil
}

// wrongTraining returns an error about the options of the training in cluster.json.
func wrongTraining(path, format string, args ...any) error {
	return cli.OfFlag("cluster", place.Named(path, fmt.Errorf("the training "+format, args...)))
}

// requireShared reports options without which nothing can be trained, and which neither this owner nor
// cluster.json gives.
func requireShared(flags *pflag.FlagSet) error {
	var missing []string
	for _, name := range []string{"task", "target"} {
		if !flags.Changed(name) {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return nil
	}
	return cli.WrongFlags(missing[0], "--%s must be given, here or in cluster.json", strings.Join(missing, " and --"))
}
