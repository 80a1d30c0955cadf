package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/difalt/difalt/kernel"
	"github.com/spf13/cobra"
)

func newInfoCommand() *cobra.Command {
	return newCommand("info", "Show versions, processor and the kernel in use", nil, func(cmd *cobra.Command, _ []string) error {
		if err := kernel.CheckEnvironment(); err != nil {
			return err
		}
		k, tw := kernel.Describe(), tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintf(tw, "difalt\t%s\ngo\t%s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		fmt.Fprintf(tw, "cpu\t%s\nkernel\t%s\navailable\t%s\n", cmp.Or(k.CPU, "unknown "+runtime.GOARCH), k.Kernel, strings.Join(k.Available, " "))
		fmt.Fprintf(tw, "build\t%s\nschedule\t%s\nworkers\t%d\n", k.Build, cmp.Or(k.Schedule, "measured in the first iterations of a run"), runtime.GOMAXPROCS(0))
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
