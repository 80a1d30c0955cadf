package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/text"
)

//go:embed BENCHMARKS.md.tmpl
var page string

// write executes the template of BENCHMARKS.md on the results.
func write(w io.Writer, results []*measure.Result) error {
	t, err := template.New("BENCHMARKS.md").Funcs(template.FuncMap{
		"details": details,
		"ceiling": ceilingTable,
		"peers":   measure.PeerTable,
		"absent":  measure.AbsentTable,
		"shapes":  measure.Shapes,
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
