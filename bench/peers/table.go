//go:build unix

package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/difalt/difalt/internal/measure"
)

// printTable prints the comparisons of a shape, a column for each number of
// threads: milliseconds an iteration, and how many times slower than difalt.
func printTable(w io.Writer, s measure.Shape, all []measure.Comparison) error {
	fmt.Fprintf(w, "\n%s: %d tasks, %d samples, %d features, rank %d\n", s.Name, s.Tasks, s.Samples, s.Features, s.Rank)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, cell func(c measure.Comparison) (ms, ratio string)) {
		fmt.Fprintf(tab, "%s\t", name)
		for _, c := range all {
			ms, ratio := cell(c)
			fmt.Fprintf(tab, "%s\t%s\t", ms, ratio)
		}
		fmt.Fprintln(tab)
	}
	row("", func(c measure.Comparison) (string, string) { return fmt.Sprintf("threads: %d, ms", c.Threads), "ratio" })
	row(floorName, func(c measure.Comparison) (string, string) { return fmt.Sprintf("%.3f", c.ReadMS), "" })
	var absent []string
	for i, p := range all[0].Peers {
		row(p.Name, func(c measure.Comparison) (string, string) {
			if c.Peers[i].Absent != "" {
				absent = append(absent, fmt.Sprintf("absent, threads %d: %s: %s", c.Threads, p.Name, c.Peers[i].Absent))
				return "-", "absent"
			}
			return fmt.Sprintf("%.3f", c.Peers[i].MS), fmt.Sprintf("%.2f", c.Peers[i].Ratio)
		})
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for _, line := range absent {
		fmt.Fprintln(w, line)
	}
	return nil
}
