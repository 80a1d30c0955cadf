package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/difalt/difalt/bench/measure"
	"github.com/difalt/difalt/internal/text"
)

//go:embed BENCHMARKS.md.tmpl
var page string

// write executes the template of BENCHMARKS.md on the results.
func write(w io.Writer, results []*measure.Result) error {
	t, err := template.New("BENCHMARKS.md").Funcs(template.FuncMap{
		"details": details,
		"ceiling": ceilingTable,
		"peers":   peerTable,
		"absent":  absentTable,
		"plotted": plotted,
		"shapes":  measure.Shapes,
		"plot":    plotFile,
		"mb":      func(s measure.Shape) string { return fmt.Sprintf("%.0f MB", float64(s.Bytes())/1e6) },
	}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, results)
}

// details is the table of experiment details.
func details(r *measure.Result) string {
	m := r.Machine
	rows := [][]string{{"", ""}}
	for _, d := range [][2]string{
		{"processor", m.CPU}, {"cores used", fmt.Sprint(m.Cores)}, {"caches", m.Caches}, {"memory", m.Memory},
		{"system", m.System}, {"transparent huge pages", m.HugePage}, {"kernel of difalt", m.Kernel},
		{"its last change", m.Commit}, {"Go", m.Go}, {"C and C++", m.Compiler + ", -O3 -march=native"}, {"date", m.Date},
		{"steal time", r.Stolen},
	} {
		rows = append(rows, []string{d[0], cmp.Or(d[1], "unknown")})
	}
	var versions []string
	for _, c := range r.Peers {
		for _, p := range c.Peers {
			if p.Version != "" && !strings.HasPrefix(p.Version, "difalt") && !slices.Contains(versions, p.Version) {
				versions = append(versions, p.Version)
			}
		}
	}
	return text.Table(append(rows, []string{"peers", cmp.Or(strings.Join(versions, ", "), "not measured")})).Markdown()
}

// ceilingTable is the table of difalt's own measurements.
func ceilingTable(r *measure.Result) string {
	rows := [][]string{{"shape", "storage", "kernel", "workers", "iteration, ms", "read, ms", "share of read", "share of FMA peak", "allocations"}}
	for _, m := range r.Rows {
		rows = append(rows, []string{
			m.Shape, m.Storage, m.Kernel, fmt.Sprint(m.Workers), fmt.Sprintf("%.3f", m.IterationMS), fmt.Sprintf("%.3f", m.ReadMS),
			fmt.Sprintf("%.2f", m.ReadShare), fmt.Sprintf("%.2f", m.FMAShare), fmt.Sprintf("%.0f", m.Allocs),
		})
	}
	return text.Table(rows).Markdown()
}

// peerTable is the table of ratios: a row for each peer, a column for each shape
// and number of threads.
func peerTable(r *measure.Result) string {
	head, read := []string{"peer"}, []string{"streaming read of X"}
	var names []string
	for _, c := range r.Peers {
		head = append(head, fmt.Sprintf("%s, %d", c.Shape, c.Threads))
		read = append(read, fmt.Sprintf("%.3f ms", c.ReadMS))
		for _, p := range c.Peers {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	rows := [][]string{head, read}
	for i, name := range names {
		row := []string{name}
		for _, c := range r.Peers {
			cell := "absent"
			if p := find(c, name); p.MS > 0 {
				cell = fmt.Sprintf("%.2f", p.Ratio)
				if i == 0 { // the reference
					cell = fmt.Sprintf("%.3f ms", p.MS)
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return text.Table(rows).Markdown()
}

// absentTable lists what was not measured, and why; empty if that is nothing.
func absentTable(r *measure.Result) string {
	rows := [][]string{{"absent", "on", "because"}}
	for _, c := range r.Peers {
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

// find returns the time of a peer, zero if the comparison does not have it.
func find(c measure.Comparison, name string) measure.PeerTime {
	for _, p := range c.Peers {
		if p.Name == name {
			return p
		}
	}
	return measure.PeerTime{}
}
