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

// stamped is the version of a build that does not know its own, as that of an image, from sources without
// .git: -ldflags "-X github.com/difalt/difalt/cmd/difalt/internal/cli.stamped=v1.2.3".
var stamped string

// Version returns the version of the module that contains the program.
func Version() string {
	built := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		built = info.Main.Version
	}
	return cmp.Or(stamped, built, "(devel)")
}
