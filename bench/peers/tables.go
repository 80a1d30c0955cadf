//go:build unix

package main

import (
	"fmt"
	"slices"

	"github.com/difalt/difalt/internal/text"
)

// peerTable is the table of ratios, and of the reference's share of the roofline, in
// Markdown: a row for each peer, a column for each comparison.
func peerTable(all []comparison) string {
	head, read, fma := []string{"peer"}, []string{"streaming read of X"}, []string{"arithmetic at peak"}
	var names []string
	for _, c := range all {
		head = append(head, fmt.Sprintf("%s, %d", c.Shape, c.Threads))
		read = append(read, fmt.Sprintf("%.3f ms", c.ReadMS))
		fma = append(fma, fmt.Sprintf("%.3f ms", c.FMAMS))
		for _, p := range c.Peers {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	rows := [][]string{head, read, fma}
	for i, name := range names {
		row := []string{name}
		for _, c := range all {
			cell := "absent"
			if p := c.peer(name); p.MS > 0 {
				cell = fmt.Sprintf("%.2f", p.Ratio)
				if i == 0 { // the reference
					cell = fmt.Sprintf("%.3f ms (%.0f %%)", p.MS, 100*c.roofMS()/p.MS)
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return text.Table(rows).Markdown()
}

// absentTable lists what was not measured, and why; empty if that is nothing.
func absentTable(all []comparison) string {
	rows := [][]string{{"absent", "on", "because"}}
	for _, c := range all {
		for _, p := range c.Peers {
			if p.Absent != "" {
				rows = append(rows, []string{p.Name, fmt.Sprintf("%s, %d", c.Shape, c.Threads), p.Absent})
			}
		}
	}
	if len(rows) == 1 {
		return ""
	}
	return text.Table(rows).Markdown()
}
