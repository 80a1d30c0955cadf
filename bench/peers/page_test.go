//go:build unix

package peers

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/difalt/difalt/internal/chart"
	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/text"
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

// pages returns BENCHMARKS.md and its pictures, by file, as they are with the results that are stored.
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
		if results = append(results, r); len(r.Peers) > 0 {
			all[strings.TrimSuffix(file, ".json")+".svg"] = picture(r.Peers)
		}
	}
	var out bytes.Buffer
	err = page.Execute(&out, results)
	all[filepath.Join(root, "BENCHMARKS.md")] = out.Bytes()
	return all, err
}

// TestPages holds BENCHMARKS.md and its pictures to the results that are stored, or writes them with -write.
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
			t.Errorf("%s is not what bench/results make it (error %v): run go test -run Pages ./bench/peers -write", filepath.Base(file), err)
		}
	}
}

// details is the line of experiment details.
func details(r *result) string {
	m := r.Machine
	list := []string{
		m.CPU, fmt.Sprintf("%d cores", m.Cores), m.Caches, m.Memory, m.System, "huge pages " + cmp.Or(m.HugePage, "unknown"),
		fmt.Sprintf("kernel %s of %s", m.Kernel, m.Commit), m.Go, m.Compiler + " -O3 -march=native", m.Date,
		"steal time " + cmp.Or(r.Stolen, "unknown"),
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

// dots are the peers that the picture shows beside difalt, and how.
var dots = []struct {
	peer  string
	color chart.Color
}{
	{"C, OpenBLAS batched", chart.Orange}, {"C++, Eigen", chart.Pink}, {"JAX", chart.Green}, {"NumPy", chart.Black},
}

// picture draws the shares of the roofline that difalt and some peers reach.
func picture(all []comparison) []byte {
	p := chart.Panel{X: chart.Axis{Min: -0.5, Max: float64(len(all)) - 0.5}, Y: chart.Axis{Max: 1}}
	ours := chart.Series{Name: "difalt", Style: chart.Style{Color: chart.Sky, Bar: 0.6}}
	for i, c := range all {
		p.X.Marks = append(p.X.Marks, chart.Mark{Value: float64(i), Label: fmt.Sprintf("%s, %d", c.Shape, c.Threads)})
		ours.X, ours.Y = append(ours.X, float64(i)), append(ours.Y, share(c, "difalt"))
	}
	p.Series = append(p.Series, ours)
	for _, d := range dots {
		s := chart.Series{Name: d.peer, Style: chart.Style{Color: d.color, Dot: 3}}
		for i, c := range all {
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, share(c, d.peer))
		}
		p.Series = append(p.Series, s)
	}
	f := &chart.Figure{Panels: []chart.Panel{p}, Y: "Share of the roofline", Caption: "Shape, threads"}
	return f.SVG()
}

// share is the share of the roofline that a peer reaches; not a number if it was not measured.
func share(c comparison, peer string) float64 {
	if ms := c.peer(peer).MS; ms > 0 {
		return c.roofMS() / ms
	}
	return math.NaN()
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
	return text.Table(rows).Markdown()
}

func sample() *result {
	r := &result{Machine: machine{Name: "box", CPU: "a processor", Cores: 2, Date: "2026-01-02"}}
	r.Peers = []comparison{{Shape: "paper1", Threads: 1, ReadMS: 3, FMAMS: 3.2, Peers: []peerTime{
		{Name: "difalt", Version: "difalt, kernel avx2", MS: 4, Ratio: 1},
		{Name: "slow", Version: "Slow 1.0", MS: 10, Ratio: 2.5},
		{Name: "gone", Absent: "not installed"},
	}}}
	return r
}

func TestWrite(t *testing.T) {
	var out bytes.Buffer
	if err := page.Execute(&out, []*result{sample()}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## box",
		"a processor; 2 cores;",
		"2026-01-02; steal time unknown; Slow 1.0.",
		"![Share of the roofline](bench/results/box.svg)",
		"| arithmetic at peak | 3.200 ms |",
		"| streaming read of X | 3.000 ms |",
		"| difalt | 4.000 ms (80 %) |",
		"| slow | 2.50 |",
		"| gone | absent |",
		"| gone | paper1, 1 | not installed |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("page has no %q:\n%s", want, out.String())
		}
	}
}

// The bar of difalt is as high as its share of the roofline, and peers that were not
// measured are not drawn.
func TestPicture(t *testing.T) {
	all := sample().Peers
	if got := share(all[0], "difalt"); got != 0.8 {
		t.Errorf("share of difalt is %v, want .8", got)
	}
	if got := share(all[0], "gone"); !math.IsNaN(got) {
		t.Errorf("share of a peer without a time is %v", got)
	}
	if !bytes.Contains(picture(all), []byte("paper1, 1")) {
		t.Error("no picture of paper1")
	}
}
