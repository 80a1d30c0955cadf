package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// On request, no name of a task is a formula in a spreadsheet; without, names are as
// they are, and numbers always.
func TestSpreadsheetSafe(t *testing.T) {
	names := []string{"=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "-3", "+4.5e1", "plain", "a=b", "'quoted"}
	var b strings.Builder
	b.WriteString("t;x;y\n")
	for i := range 72 {
		b.WriteString(names[i%len(names)] + ";" + string(rune('0'+i%7)) + ";" + string(rune('0'+i%5)) + "\n")
	}
	dir := t.TempDir()
	table, model, out := filepath.Join(dir, "t.csv"), filepath.Join(dir, "m.npz"), filepath.Join(dir, "p.csv")
	if err := os.WriteFile(table, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := difaltCommand(t, "fit", "--data", table, "--task", "t", "--target", "y", "--rank", "1", "--iterations", "5", "--ridge", "1", "--model", model); code != 0 {
		t.Fatal(stderr)
	}
	safe := map[string]string{"=1+1": "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)"}
	for _, flag := range []string{"--spreadsheet-safe=false", "--spreadsheet-safe"} {
		if _, stderr, code := difaltCommand(t, "predict", "--model", model, "--data", table, "--out", out, flag); code != 0 {
			t.Fatal(stderr)
		}
		for i, row := range records(t, out) {
			want := names[i%len(names)]
			if s, ok := safe[want]; ok && flag == "--spreadsheet-safe" {
				want = s
			}
			if row["task"] != want {
				t.Errorf("%s: task %q, want %q", flag, row["task"], want)
			}
		}
	}
	if got := withoutFormula("\tx"); got != "'\tx" {
		t.Errorf("a cell that begins with a tab becomes %q", got)
	}
}
