package main

import (
	"cmp"
	"fmt"
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
		tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, f := range facts() {
			fmt.Fprintf(tw, "%s\t%s\n", f[0], f[1])
		}
		return tw.Flush()
	})
}

// facts are what info says, by name.
func facts() [][2]string {
	k := kernel.Info()
	all := [][2]string{
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
		all = append(all, [2]string{"openblas", k.Library})
	}
	return all
}

func machine() map[string]string {
	m := map[string]string{}
	for _, f := range facts() {
		m[f[0]] = f[1]
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
