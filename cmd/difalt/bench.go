package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/kernel"
	"github.com/spf13/cobra"
)

func newBenchCommand() *cobra.Command {
	var shapes, storages, workers string
	var seconds float64
	var seed uint64
	var asJSON bool
	counts := "1"
	if n := runtime.GOMAXPROCS(0); n > 1 {
		counts += fmt.Sprintf(",%d", n)
	}
	var names strings.Builder
	for _, s := range measure.Shapes() {
		fmt.Fprintf(&names, "  %-8s %5d %4d %5d %3d   %4.0f MB\n", s.Name, s.Tasks, s.Samples, s.Features, s.Rank, float64(s.Bytes())/1e6)
	}
	flags := options.NewGroup([]options.Option{
		{Name: "shapes", Value: options.Text(&shapes, "paper1,paper2,many"), Usage: "shapes to measure: names, or sizes as in 600x30x600x4"},
		{Name: "workers", Value: options.Text(&workers, counts), Usage: "numbers of workers"},
		{Name: "storage", Value: options.Text(&storages, "f64,f32,f16"), Usage: "what is read: samples in f64 or f32, or a copy in 16 bits as --mixed-precision does between anchors (f16)"},
		{Name: "seconds", Value: options.Number(&seconds, 3, math.SmallestNonzeroFloat64, 86_400, "must be positive, and a day at most"), Usage: "time to measure each row"},
		{Name: "seed", Value: options.Seed(&seed, 1), Usage: "seed of the data"},
		{Name: "json", Value: options.Yes(&asJSON), Usage: "print one JSON object a row"},
	})
	cmd := newCommand("bench", "Time an iteration against the limits of this machine", flags.Set, func(cmd *cobra.Command, _ []string) error {
		if err := flags.CheckRanges(); err != nil {
			return err
		}
		c := measure.Config{Seconds: seconds, Seed: seed}
		var err error
		if c.Shapes, err = measure.ParseShapes(shapes); err != nil {
			return options.Usagef("--shapes: %w", err)
		}
		if c.Storages, err = measure.ParseStorages(storages); err != nil {
			return options.Usagef("--storage: %w", err)
		}
		if c.Workers, err = measure.ParseWorkers(workers, runtime.GOMAXPROCS(0)); err != nil {
			return options.Usagef("--workers: %w", err)
		}
		if err := kernel.Err(); err != nil {
			return err
		}
		emit := func(r measure.Row) error { return json.NewEncoder(cmd.OutOrStdout()).Encode(r) }
		if !asJSON {
			emit = printTable(cmd.OutOrStdout(), c.Shapes)
		}
		stolen := measure.Stolen()
		if err := measure.Run(cmd.Context(), c, emit); err != nil {
			return err
		}
		if share, ok := stolen(); ok && share >= 0.01 {
			fmt.Fprintf(cmd.ErrOrStderr(), "Steal time was %.0f %%: the host gave that much of the processors to others, so that numbers vary, most of all those of several workers.\n", 100*share)
		}
		return nil
	})
	cmd.Long += "\n" + names.String()
	cmd.Flags().SortFlags = true
	return cmd
}

// printTable prints rows of some shapes as they come, in columns of fixed width.
func printTable(w io.Writer, shapes []measure.Shape) func(measure.Row) error {
	first, width := true, 8
	for _, s := range shapes {
		width = max(width, len(s.Name))
	}
	return func(r measure.Row) error {
		if first {
			first = false
			fmt.Fprintf(w, "kernel %s\n\n%-*s %-7s %7s %9s %9s %7s %6s %7s %5s %s\n", r.Kernel,
				width, "shape", "storage", "workers", "iteration", "read", "of read", "of fma", "of roof", "limit", "schedule")
		}
		_, err := fmt.Fprintf(w, "%-*s %-7s %7d %9s %9s %6.0f%% %5.0f%% %6.0f%% %5s %s\n",
			width, r.Shape, r.Storage, r.Workers, milliseconds(r.IterationMS), milliseconds(r.ReadMS), 100*r.ReadShare, 100*r.FMAShare,
			100*r.RoofShare(), r.Limit(), r.Schedule)
		return err
	}
}

// milliseconds returns a time with at least two digits.
func milliseconds(ms float64) string {
	digits := 2
	for unit := 0.1; ms < unit && digits < 5; unit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f ms", digits, ms)
}
