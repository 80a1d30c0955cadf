package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/difalt/difalt/kernel"
	"github.com/spf13/cobra"
)

// Info returns the command info.
func Info() *cobra.Command {
	return Command("info", "Show versions, processor and the kernel in use", nil, func(_ context.Context, std Streams) error {
		k := kernel.Describe()
		for _, fact := range [][2]string{
			{"difalt", Version()}, {"go", runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH},
			{"cpu", cmp.Or(k.CPU, "unknown "+runtime.GOARCH)}, {"kernel", k.Kernel}, {"available", strings.Join(k.Available, " ")},
			{"build", k.Build}, {"workers", strconv.Itoa(runtime.GOMAXPROCS(0))},
		} {
			fmt.Fprintf(std.Out, "%-10s %s\n", fact[0], fact[1])
		}
		return nil
	})
}

// Machine describes the processor and the versions in one line.
func Machine() string {
	k := kernel.Describe()
	return fmt.Sprintf("%s, kernel %s, %s %s/%s, difalt %s", cmp.Or(k.CPU, "unknown processor"), k.Kernel,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, Version())
}

// Version returns the version of the module that contains the program.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
