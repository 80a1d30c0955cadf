//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/pflag"
)

// malformedSources are good files to spoil.
type malformedSources struct {
	table, model, problem, state, cluster, key []byte
	parquet, npy                               [][]byte
}

func newMalformedSources(t *testing.T) *malformedSources {
	dir := t.TempDir()
	problem := filepath.Join(dir, "p.npz")
	must(t, "simulate", "--nodes", "3", "--tasks", "6", "--features", "5", "--rank", "2", "--samples", "8",
		"--iterations", "3", "--trials", "1", "--graph", "complete", "--out", filepath.Join(dir, "s"),
		"--export", problem)
	s := &malformedSources{problem: readFile(t, problem)}
	state, net := filepath.Join(dir, "a.state"), filepath.Join(dir, "net")
	_, _, _ = difaltCommand(t, "run", "--data", problem, "--rank", "2", "--graph", "complete", "--iterations", "5",
		"--snapshot", state)
	must(t, "cluster", "new", "--nodes", "a=127.0.0.1:1,b=127.0.0.1:2", "--out", net, "--task", "t", "--target", "y")
	s.state = readFile(t, state)
	s.cluster = readFile(t, filepath.Join(net, "cluster.json"))
	s.key = readFile(t, filepath.Join(net, "a.key"))
	s.table = smallTable(rand.New(rand.NewPCG(1, 2)), 6, 8, 3)
	table, model := write(t, dir, "t.csv", string(s.table)), filepath.Join(dir, "m.npz")
	must(t, "fit", "--data", table, "--task", "t", "--target", "y", "--rank", "1", "--no-curves", "--model", model)
	s.model = readFile(t, model)
	for pattern, list := range map[string]*[][]byte{"*.parquet": &s.parquet, "*.npy": &s.npy} {
		paths, _ := filepath.Glob(filepath.Join("internal/dataset/testdata", pattern))
		for _, path := range paths {
			*list = append(*list, readFile(t, path))
		}
	}
	if len(s.parquet) < 2 || len(s.npy) < 2 {
		t.Fatal("the files of package dataset are not there")
	}
	return s
}

// draw returns input number i.
func (s *malformedSources) draw(r *rand.Rand, i int) *malformedCase {
	kinds := []func(*rand.Rand) *malformedCase{s.bytesOfCSV, s.cellsOfCSV, s.shapeOfCSV, s.damagedParquet,
		s.damagedArray, s.damagedModel, s.oddFlags, s.damagedState, s.damagedCluster, s.craftedArray, s.craftedModel,
		s.wideTable,
		s.folderInPlace}
	return kinds[i%len(kinds)](r)
}

// pick returns one of a list.
func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// onTable returns a command that reads the table, by one of several commands.
func (s *malformedSources) onTable(r *rand.Rand, name string, table []byte, more string) *malformedCase {
	fit := "fit --task t --target y --model out-model.npz " +
		pick(r, "", "--missing drop", "--missing mean", "--test-fraction 0",
			"--no-curves", "--report report") + " " + more
	command := pick(r, "predict --model model.npz --out out.csv",
		"adapt --model model.npz --out out-model.npz", fit, fit, fit, fit)
	return &malformedCase{strings.Fields(command + " --data " + name),
		map[string][]byte{name: table, "model.npz": s.model}}
}

// spoil changes some bytes, or cuts, doubles or mixes pieces.
func spoil(r *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + r.IntN(4) {
		if len(b) < 2 {
			return b
		}
		at := r.IntN(len(b))
		n := min(1+r.IntN(40), len(b)-at)
		switch r.IntN(6) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.IntN(256))
		case 2:
			b = b[:at]
		case 3:
			b = slices.Delete(b, at, at+n)
		case 4:
			b = slices.Insert(b, at, b[at:at+n]...)
		case 5:
			b = slices.Insert(b, at,
				[]byte(pick(r, "\x00", "\"", "\n", "\r", ",,,", "\xff\xfe", "\ufeff", "'", ";", "\t", "é",
					"\xe9", "=1+1", "-", "1e999"))...)
		}
	}
	return b
}

// bytesOfCSV spoils the text of a table, before or after packing it.
func (s *malformedSources) bytesOfCSV(r *rand.Rand) *malformedCase {
	b, name := s.table, "in.csv"
	if r.IntN(3) > 0 {
		b = spoil(r, b)
	}
	switch r.IntN(8) {
	case 0:
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(b)
		_ = w.Close()
		b, name = out.Bytes(), "in.csv.gz"
	case 1:
		w, _ := zstd.NewWriter(nil)
		b, name = w.EncodeAll(b, nil), "in.csv.zst"
	case 3:
		b = bytes.ReplaceAll(b, []byte("\n"), []byte(pick(r, "\r\n", "\r", "\n\n", "\n\r")))
	case 4:
		b = bytes.ReplaceAll(b, []byte(","), []byte(pick(r, ";", "\t", "|", " ", ", ", ",,", ":")))
	}
	if r.IntN(3) == 0 {
		b = spoil(r, b)
	}
	return s.onTable(r, name, b, "")
}

// cellsOfCSV puts odd cells into a table.
func (s *malformedSources) cellsOfCSV(r *rand.Rand) *malformedCase {
	odd := []string{
		"", " ", "NA", "nan", "-inf", "Infinity", "1e308", "-1e308", "1e-320", "1e400", "1e154", "-1e200",
		"0x10", "1_000", "1,5", "\"1,5\"", "1.234,5", "\"1,234\"", "1 000", "1'000", "--1", "+", "1e",
		"1e5e5", ".", "-.", "2024-01-31", "31.01.2024", "01/02/2024", "2024-02-30", "true", "north",
		"</script>", "\x1b[31mred", "%s%d", "=cmd", "\"", "\"\"", "'", "\"a\nb\"", "\"never ends",
		strings.Repeat("9", 400), strings.Repeat("a", 70_000), "\x00", "\xe9", "½", "1.0000000000000001",
		"1000000000000000.25", "9007199254740993", "-0",
	}
	lines := strings.Split(strings.TrimSpace(string(s.table)), "\n")
	all := r.IntN(3) == 0 // of one column
	column, cell := r.IntN(5), pick(r, odd...)
	for i := r.IntN(2); i < len(lines); i++ { // the header, too
		if !all && r.IntN(len(lines)) > 2 {
			continue
		}
		cells := strings.Split(lines[i], ",")
		if !all {
			column, cell = r.IntN(5), pick(r, odd...)
		}
		cells[column] = cell
		lines[i] = strings.Join(cells, ",")
	}
	return s.onTable(r, "in.csv", []byte(strings.Join(lines, "\n")), "")
}

// shapeOfCSV makes tables of unusual sizes, and values of unusual sizes.
func (s *malformedSources) shapeOfCSV(r *rand.Rand) *malformedCase {
	tasks, rows, features := pick(r, 1, 2, 3, 12, 300), pick(r, 1, 2, 3, 5, 30), pick(r, 1, 2, 8, 60)
	if r.IntN(8) == 0 {
		tasks, rows, features = 4, 5, pick(r, 500, 1500)
	}
	b := smallTable(r, tasks, rows, features)
	scale := pick(r, 1.0, 1, 1e-300, 1e-160, 1e100, 1e153, 1e155, 1e300, 1e-20)
	offset := pick(r, 0.0, 0, 1e15, 1e9, -1e200)
	column := r.IntN(features + 1)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	constant := r.IntN(4) == 0
	for i := 1; i < len(lines); i++ {
		cells := strings.Split(lines[i], ",")
		var v float64
		_, _ = fmt.Sscan(cells[1+column], &v)
		if constant {
			v = 1
		}
		v = v*scale + offset
		if !math.IsInf(v, 0) {
			cells[1+column] = fmt.Sprintf("%.17g", v)
		}
		lines[i] = strings.Join(cells, ",")
	}
	return s.onTable(r, "in.csv", []byte(strings.Join(lines, "\n")+"\n"),
		pick(r, "", "", "--common-noise", "--rank 1", "--log-target"))
}

func (s *malformedSources) damagedParquet(r *rand.Rand) *malformedCase {
	b := pick(r, s.parquet...)
	if r.IntN(8) > 0 {
		b = spoil(r, b)
	}
	return &malformedCase{strings.Fields("fit --data in.parquet --rank 1 --model out-model.npz --task " +
		pick(r, "id", "site", "when", "y") +
		" --target " + pick(r, "y", "y", "b") +
		pick(r, " --drop list,when,site,time", " --drop list,time", " --missing drop",
			" --drop list --categorical site --missing mean", " --drop time --missing mean")),
		map[string][]byte{"in.parquet": b}}
}

func (s *malformedSources) damagedArray(r *rand.Rand) *malformedCase {
	if r.IntN(2) == 0 {
		return &malformedCase{strings.Fields("fit --data in.npy --task c0 --rank 1 --target " +
			pick(r, "c1", "c3", "c9")),
			map[string][]byte{"in.npy": spoil(r, pick(r, s.npy...))}}
	}
	return &malformedCase{strings.Fields("run --data in.npz --rank 2 --iterations 5 --out out.npz"),
		map[string][]byte{"in.npz": spoil(r, pick(r, s.problem, s.problem, s.model))}}
}

func (s *malformedSources) damagedModel(r *rand.Rand) *malformedCase {
	command := pick(r, "model show model.npz", "predict --model model.npz --data in.csv --out out.csv",
		"predict --model model.npz --data in.csv --out out.csv --standard-errors",
		"adapt --model model.npz --data in.csv --out out-model.npz")
	return &malformedCase{strings.Fields(command),
		map[string][]byte{"model.npz": spoil(r, pick(r, s.model, s.model, s.problem, s.table)),
			"in.csv": bytes.ReplaceAll(s.table, []byte("task"), []byte(pick(r, "task", "new")))}}
}

// The values that flags of every type are given.
var oddValues = []string{
	"", "0", "-1", "1", "2", "3", "1000000", "1000000000", "1000000000000", "9223372036854775807",
	"9223372036854775808", "-9223372036854775808", "1e308", "1e-308", "NaN", "-Inf", "Inf", "0.5", "1.5",
	"-0.1", "x", "x,y,x0", "auto", "none", "true", "false", "tab", "--", "in.csv", ".", "/", "/dev/null",
	"ring", "er:0", "er:1", "er:2", "er:NaN", "star", "tree", "chebyshev", "int8", "1h", "-5ms", "\xff",
	"a\nb", "%d",
}

// oddFlags gives flags odd values, one to three at a time.
func (s *malformedSources) oddFlags(r *rand.Rand) *malformedCase {
	args := strings.Fields(pick(r, "fit --data in.csv --task t --target y --model out-model.npz",
		"predict --data in.csv --model model.npz --out out.csv",
		"adapt --data in.csv --model model.npz --out out-model.npz", "up --data in*.csv --task t --target y",
		"simulate --nodes 3 --tasks 6 --features 5 --rank 2 --samples 8 --iterations 5 --trials 1 --graph complete "+
			"--out out"))
	cmd, _, err := newRootCommand(&cli.Streams{}).Find(args[:1])
	if err != nil {
		panic(err)
	}
	var flags []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "preset" {
			flags = append(flags, f)
		}
	})
	for range 1 + r.IntN(3) {
		args = append(args, "--"+pick(r, flags...).Name+"="+pick(r, oddValues...))
	}
	return &malformedCase{args, map[string][]byte{"in.csv": s.table, "model.npz": s.model}}
}
