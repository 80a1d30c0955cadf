package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/kernel"
	"github.com/spf13/cobra"
)

func newInfoCommand() *cobra.Command {
	var asJSON bool
	flags := options.FlagSet([]options.Option{{Name: "json", Value: options.Yes(&asJSON), Usage: "print JSON"}})
	return newCommand("info", "Show versions, processor and the kernel in use", flags, func(_ context.Context, std streams) error {
		if err := kernel.CheckEnvironment(); err != nil {
			return err
		}
		k, byName := kernel.Describe(), map[string]any{}
		tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		for _, fact := range []struct {
			name  string
			value any
		}{
			{"difalt", version()}, {"go", runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH},
			{"cpu", cmp.Or(k.CPU, "unknown "+runtime.GOARCH)}, {"kernel", k.Kernel}, {"available", k.Available}, {"build", k.Build},
			{"schedule", cmp.Or(k.Schedule, "measured in the first iterations of a run")}, {"workers", runtime.GOMAXPROCS(0)},
		} {
			byName[fact.name] = fact.value
			fmt.Fprintf(tw, "%s\t%s\n", fact.name, strings.Trim(fmt.Sprint(fact.value), "[]"))
		}
		if asJSON {
			return json.NewEncoder(std.out).Encode(byName)
		}
		return tw.Flush()
	})
}

// machine describes the processor and the versions in one line.
func machine() string {
	k := kernel.Describe()
	return fmt.Sprintf("%s, kernel %s, %s %s/%s, difalt %s", cmp.Or(k.CPU, "unknown processor"), k.Kernel,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, version())
}

// version returns the version of the module that contains the program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
