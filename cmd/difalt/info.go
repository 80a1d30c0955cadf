package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/difalt/difalt/kernel"
	"github.com/klauspost/cpuid/v2"
	"github.com/spf13/cobra"
)

func newInfoCommand() *cobra.Command {
	return newCommand("info", "Show versions, processor and the kernel in use", nil, func(cmd *cobra.Command, _ []string) error {
		if err := kernel.Err(); err != nil {
			return err
		}
		return writeInfo(cmd.OutOrStdout())
	})
}

func writeInfo(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range facts() {
		fmt.Fprintf(tw, "%s\t%s\n", f.name, f.value)
	}
	return tw.Flush()
}

type fact struct{ name, value string }

func facts() []fact {
	k := kernel.Info()
	all := []fact{
		{"difalt", version()},
		{"go", runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH},
		{"cpu", cmp.Or(k.CPU, "unknown "+runtime.GOARCH)},
		{"features", strings.Join(features(), " ")},
		{"kernel", k.Kernel},
		{"available", strings.Join(k.Available, " ")},
		{"build", k.Build},
		{"schedule", cmp.Or(k.Schedule, "measured in the first iterations of a run")},
		{"schedules", cmp.Or(strings.Join(k.Schedules, " "), "no choice with this kernel")},
		{"workers", strconv.Itoa(runtime.GOMAXPROCS(0))},
	}
	if k.Library != "" {
		all = append(all, fact{"openblas", k.Library})
	}
	return all
}

func machine() map[string]string {
	m := map[string]string{}
	for _, f := range facts() {
		m[f.name] = f.value
	}
	return m
}

// features lists those of the processor that kernels ask for.
func features() []string {
	var have []string
	for _, f := range []cpuid.FeatureID{
		cpuid.AVX2, cpuid.FMA3, cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.ASIMD,
	} {
		if cpuid.CPU.Supports(f) {
			have = append(have, strings.ToLower(f.String()))
		}
	}
	if len(have) == 0 {
		return []string{"none that a kernel uses"}
	}
	return have
}

// version returns the version of the program from the module that it was built
// from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
