//go:build openblas && linux

package blas_test

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/difalt/difalt/internal/tile"
	"github.com/klauspost/cpuid/v2"
	"gonum.org/v1/gonum/stat"
)

// A report has the measurements of a CPU tier.
type report struct {
	tier    tile.Tier
	threads []int
	columns []column // for all numbers of threads alike
	peers   int      // gonum, and every OpenBLAS
}

// A column has the times of this package, in seconds, or those of a peer as multiples of them, by case.
type column struct {
	name  string
	peer  bool
	gonum bool
	times map[string]float64
}

// add adds the measurements of one number of threads, each beside another OpenBLAS, the first with gonum too.
func (r *report) add(all []measurement) {
	threads := r.threads[len(r.columns)/max(1+r.peers, 1)]
	r.peers = 1 + len(all)
	times := column{name: fmt.Sprintf("%d thread, us", threads), times: map[string]float64{}}
	if threads > 1 {
		times.name = fmt.Sprintf("%d threads, us", threads)
	}
	for name, best := range all[0].Times {
		times.times[name] = best[0]
	}
	r.columns = append(r.columns, times, ratiosOf("gonum", all[0], 2))
	for _, m := range all {
		r.columns = append(r.columns, ratiosOf(versionOf(m), m, 1))
	}
}

// ratiosOf returns a peer's times as multiples of this package's, 0 for calls that it refuses.
func ratiosOf(name string, m measurement, peer int) column {
	c := column{name: name, peer: true, gonum: name == "gonum", times: map[string]float64{}}
	for name, best := range m.Times {
		c.times[name] = best[peer] / best[0]
	}
	return c
}

// selected returns the workloads that the flag -cases chooses.
func selected() (all []workload) {
	eachSelected(func(w workload) { all = append(all, w) })
	return all
}

// groupsOf returns the groups of workloads, in order.
func groupsOf(all []workload) (groups []string) {
	for _, w := range all {
		if !slices.Contains(groups, w.group) {
			groups = append(groups, w.group)
		}
	}
	return groups
}

// summary returns the geometric mean and the least ratio of the workloads of a group, of all for "".
func (c *column) summary(all []workload, group string) string {
	var ratios []float64
	for _, w := range all {
		if ratio := c.times[w.name]; ratio > 0 && (group == "" || w.group == group) {
			ratios = append(ratios, ratio)
		}
	}
	if ratios == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f, %.2f", stat.GeometricMean(ratios, nil), slices.Min(ratios))
}

// write writes the report as Markdown: a line a group, and then a line a case.
func (r *report) write(out io.Writer) {
	all := selected()
	fmt.Fprintf(out, "### %v\n\n%s, %s, %s. Time as a multiple of this package's, geometric mean and least of "+
		"a group:\n\n",
		r.tier, cpuid.CPU.BrandName, runtime.Version(), time.Now().UTC().Format(time.DateOnly))
	r.head(out, "group", func(c *column) bool { return c.peer })
	for _, group := range append(groupsOf(all), "") {
		name := group
		if group == "" {
			name = "all"
		}
		fmt.Fprintf(out, "| %s (%d) |", name, r.count(all, group))
		for i := range r.columns {
			if r.columns[i].peer {
				fmt.Fprintf(out, " %s |", r.columns[i].summary(all, group))
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
	for _, group := range groupsOf(all) {
		fmt.Fprintf(out, "#### %v: %s\n\n", r.tier, group)
		r.head(out, "case", func(*column) bool { return true })
		for _, w := range all {
			if w.group == group {
				fmt.Fprintf(out, "| %s |%s\n", w.name, r.cells(w.name))
			}
		}
		fmt.Fprintln(out)
	}
}

// count returns the number of workloads of a group, of all for "".
func (r *report) count(all []workload, group string) (n int) {
	for _, w := range all {
		if group == "" || w.group == group {
			n++
		}
	}
	return n
}

// head writes the head of a table with some columns.
func (r *report) head(out io.Writer, first string, with func(*column) bool) {
	names := []string{first}
	for i := range r.columns {
		if c := &r.columns[i]; with(c) {
			name := c.name
			if c.peer && first == "group" {
				name = fmt.Sprintf("%s, %d thr.", c.name, r.threads[i/(1+r.peers)])
			}
			names = append(names, name)
		}
	}
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
}

// cells returns the cells of a case.
func (r *report) cells(name string) (line string) {
	for i := range r.columns {
		c := &r.columns[i]
		switch {
		case c.times[name] == 0:
			line += " - |"
		case c.peer:
			line += fmt.Sprintf(" %.2f |", c.times[name])
		default:
			line += fmt.Sprintf(" %.4g |", c.times[name]*1e6)
		}
	}
	return line
}

// front writes the table of README.md: a line a group, on one thread, beside gonum and the last OpenBLAS.
func (r *report) front(out io.Writer) {
	all, one := selected(), r.columns[1:1+r.peers]
	newest := one[len(one)-1]
	fmt.Fprintf(out, "| time as a multiple of kernel/blas, 1 thread: mean, least | gonum | %s |\n|---|---|---|\n",
		newest.name)
	for _, group := range groupsOf(all) {
		fmt.Fprintf(out, "| %s (%d calls) | %s | %s |\n", group, r.count(all, group), one[0].summary(all, group),
			newest.summary(all, group))
	}
	fmt.Fprintf(out, "\n(%s, %v, %s, by package mat and blas32, cblas128.)\n", cpuid.CPU.BrandName, r.tier,
		time.Now().UTC().Format(time.DateOnly))
}

// between replaces the text between two markers of a page.
func between(page, text string) (string, error) {
	const begin, end = "<!-- make bench-blas: begin -->\n", "<!-- make bench-blas: end -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("want the markers %q and %q", strings.TrimSpace(begin), end)
	}
	return before + begin + text + end + after, nil
}
