//go:build linux

package peers

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/difalt/difalt/internal/measure"
)

//go:embed BENCHMARKS.md.tmpl
var pageText string

var page = template.Must(template.New("BENCHMARKS.md").Funcs(template.FuncMap{
	"details": details,
	"peers":   peerTable,
	"absent":  absentTable,
	"shapes":  measure.Shapes,
	"mb":      func(s measure.Shape) string { return fmt.Sprintf("%.0f MB", float64(s.Bytes())/1e6) },
}).Parse(pageText))

// pages returns BENCHMARKS.md and README.md, by file, as they are with the results that are stored.
func pages(root string) (map[string][]byte, error) {
	files, err := filepath.Glob(filepath.Join(root, "bench/results/*.json"))
	if err != nil {
		return nil, err
	}
	var results []*result
	all := make(map[string][]byte)
	for _, file := range files {
		r, err := loadResult(file)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	var out bytes.Buffer
	err = page.Execute(&out, results)
	all[filepath.Join(root, "BENCHMARKS.md")] = out.Bytes()
	if err != nil {
		return nil, err
	}
	readme := filepath.Join(root, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		return nil, err
	}
	newest := slices.MaxFunc(results, func(a, b *result) int { return strings.Compare(a.Machine.Date, b.Machine.Date) })
	all[readme], err = replaceTable(text, frontTable(newest))
	return all, err
}

// Marks around the table of README.md.
const (
	tableStart = "<!-- Written by make benchmarks: -->\n"
	tableEnd   = "<!-- end -->"
)

// replaceTable returns a page with the text between the marks replaced.
func replaceTable(page []byte, table string) ([]byte, error) {
	before, rest, started := bytes.Cut(page, []byte(tableStart))
	_, after, ended := bytes.Cut(rest, []byte(tableEnd))
	if !started || !ended {
		return nil, fmt.Errorf("the page lacks the marks %q and %q", tableStart, tableEnd)
	}
	return slices.Concat(before, []byte(tableStart+table+tableEnd), after), nil
}

// front are the peers in README.md, by their names in the results and there.
var front = [][2]string{{"C, OpenBLAS batched", "C with OpenBLAS, batched"}, {"C++, Eigen", "C++ with Eigen"},
	{"NumPy", "NumPy"}, {"gonum", "gonum"}}

// frontTable returns the table of README.md: some peers on one thread, by the shapes' sizes, and the machine.
func frontTable(r *result) string {
	rows := [][]string{{"time as a multiple of difalt's, 1 thread"}}
	for _, p := range front {
		rows = append(rows, []string{p[1]})
	}
	for _, c := range r.Peers {
		if c.Threads != 1 {
			continue
		}
		i := slices.IndexFunc(measure.Shapes(), func(s measure.Shape) bool { return s.Name == c.Shape })
		s := measure.Shapes()[i]
		rows[0] = append(rows[0], fmt.Sprintf("%d tasks %d x %d, r %d", s.Tasks, s.Samples, s.Features, s.Rank))
		for k, p := range front {
			rows[k+1] = append(rows[k+1], fmt.Sprintf("%.2f", c.peer(p[0]).Ratio))
		}
	}
	return fmt.Sprintf("%s\n(%s, kernel %s, %s.) `go test -bench . ./bench` measures your machine.\n", markdown(rows),
		r.Machine.CPU, r.Machine.Kernel, r.Machine.Date)
}

// TestPages compares both pages with the stored results, or writes the pages with -write.
func TestPages(t *testing.T) {
	all, err := pages(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range all {
		if *write {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Error(err)
			}
			continue
		}
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what bench/results make it (error %v): run go test -run Pages ./bench/peers -write",
				filepath.Base(file), err)
		}
	}
}

// details is the line of experiment details.
func details(r *result) string {
	m := r.Machine
	list := []string{
		m.CPU, fmt.Sprintf("%d cores", m.Cores), m.Caches, m.Memory, m.System, "huge pages " +
			cmp.Or(m.HugePage, "unknown"),
		fmt.Sprintf("kernel %s of %s", m.Kernel, m.Commit), m.Go, m.Compiler + " -O3 -march=native", m.OpenBLAS, m.Date,
	}
	for _, c := range r.Peers {
		for _, p := range c.Peers {
			if p.Version != "" && !strings.HasPrefix(p.Version, "difalt") && !slices.Contains(list, p.Version) {
				list = append(list, p.Version)
			}
		}
	}
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), "; ") + "."
}

// markdown writes rows as a table, the first row as its head.
func markdown(rows [][]string) string {
	var out strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&out, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
	return out.String()
}

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
	return markdown(rows)
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
	return markdown(rows)
}

// TestPage: the page has the machine, the ratios, the shares of the roofline and the reasons of absent peers.
func TestPage(t *testing.T) {
	all := []comparison{{Shape: "paper1", Threads: 1, ReadMS: 3, FMAMS: 3.2, Peers: []peerTime{
		{Name: "difalt", Version: "difalt, kernel avx2", MS: 4, Ratio: 1},
		{Name: "slow", Version: "Slow 1.0", MS: 10, Ratio: 2.5},
		{Name: "gone", Absent: "not installed"},
	}}}
	var out bytes.Buffer
	of := machine{Name: "box", CPU: "a processor", Cores: 2, Date: "2026-01-02"}
	if err := page.Execute(&out, []*result{{Machine: of, Peers: all}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## box", "a processor; 2 cores;", "2026-01-02; Slow 1.0.",
		"| arithmetic at peak | 3.200 ms |", "| streaming read of X | 3.000 ms |", "| difalt | 4.000 ms (80 %) |",
		"| slow | 2.50 |",
		"| gone | absent |", "| gone | paper1, 1 | not installed |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("page has no %q:\n%s", want, out.String())
		}
	}
}
