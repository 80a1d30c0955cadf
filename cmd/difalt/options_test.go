package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Options that say how a table is to be read mean the same to every command that reads one. A table with
// decimal commas, semicolons and dates in another order gives the bits of the plain table.
func TestOptionsOfTables(t *testing.T) {
	t.Parallel()
	inFull(t)
	plain, other := herds(1), herds(1)
	for i, row := range plain.rows { // a year becomes a day
		row[1], other.rows[i][1] = fmt.Sprintf("2024-03-%02d", i%28+1), fmt.Sprintf("%02d.03.2024", i%28+1)
		for _, j := range []int{2, 4} {
			other.rows[i][j] = strings.ReplaceAll(other.rows[i][j], ".", ",")
		}
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	semicolons := func(table *tableText) string {
		var b strings.Builder
		for _, row := range append([][]string{table.columns}, table.rows...) {
			b.WriteString(strings.Join(row, ";") + "\n")
		}
		return b.String()
	}
	plain.write(t, at("plain"), "a.csv")
	write(t, at("other"), "a.csv", semicolons(other))
	for _, table := range []*tableText{plain, other} { // a second owner, with other tasks
		for _, row := range table.rows {
			row[0] = "other " + row[0]
		}
	}
	plain.write(t, at("plain"), "b.csv")
	write(t, at("other"), "b.csv", semicolons(other))

	train := []string{"--task", "herd", "--target", "y", "--categorical", "kind", "--rank", "1"}
	for _, c := range []struct {
		output string
		args   []string // IN stands for the folder of the tables
	}{
		{"fit.npz", slices.Concat([]string{"fit", "--no-curves", "--data", "IN/a.csv", "--model", "IN/fit.npz"},
			train)},
		{"up.npz", slices.Concat([]string{"up", "--data", "IN/?.csv", "--model", "IN/up.npz"}, train)},
		{"new.csv", []string{"predict", "--model", at("plain/fit.npz"), "--data", "IN/a.csv", "--out", "IN/new.csv"}},
		{"adapted.npz",
			[]string{"adapt", "--model", at("plain/fit.npz"), "--data", "IN/b.csv", "--out", "IN/adapted.npz"}},
	} {
		for name, read := range map[string][]string{
			"plain": {"--dates", "ymd"},
			"other": {"--decimal", ",", "--dates", "dmy"},
		} {
			args := slices.Concat(c.args, read)
			for i := range args {
				args[i] = strings.Replace(args[i], "IN/", at(name)+"/", 1)
			}
			must(t, args...)
		}
		if !bytes.Equal(readFile(t, at("plain"), c.output), readFile(t, at("other"), c.output)) {
			t.Errorf("%s writes another %s", c.args[0], c.output)
		}
	}
}

// A hint names columns as a flag reads them, also where a name has a comma or a line break.
func TestHintsCanBeTyped(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("t,y,\"a,b\",\"c\nd\"\n")
	for i := range 60 {
		fmt.Fprintf(&b, "x%d,%d,remark %d,%d\n", i%3, i*i%7, i*i, i*7%60)
	}
	table := write(t, t.TempDir(), "a.csv", b.String())
	for want, more := range map[string][]string{
		`--drop '"a,b"'`:       nil,
		`Use --drop $'"c\nd"'`: {"--drop", `"a,b"`, "--test-fraction", "0"},
	} {
		args := append([]string{"fit", "--task", "t", "--target", "y", table}, more...)
		stdout, stderr, code := difaltCommand(t, args...)
		if text := strings.Join(strings.Fields(stdout+stderr), " "); !strings.Contains(text, want) {
			t.Errorf("%q: exit code %d, %s, want %s", more, code, text, want)
		}
	}
}
