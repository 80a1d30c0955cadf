package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
)

// Rows that the model has learned are said to count twice when they are adapted.
func TestAdaptRepeats(t *testing.T) {
	dir := t.TempDir()
	model, again := filepath.Join(dir, "m.npz"), filepath.Join(dir, "again.npz")
	must(t, "fit", "--task", "clinic", "--target", "score", "--drop", "patient", "--rank", "0",
		"--no-curves", "--model", model, clinics)
	_, said, code := difaltCommand(t, "adapt", "--model", model, "--out", again, clinics)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	has(t, said, "The rows of 40 tasks are those that the model has learned already, and count twice now")
	_, said, _ = difaltCommand(t, "adapt", "--model", model, "--out", again, newClinics)
	if strings.Contains(said, "twice") {
		t.Error(said)
	}
	for table, tasks := range map[string]int{clinics: 40, newClinics: 0} {
		var r adaptReport
		err := json.Unmarshal([]byte(must(t, "adapt", "--json", "--model", model, "--out", again, table)), &r)
		if err != nil || r.Repeated == nil || len(r.Repeated) != tasks {
			t.Errorf("%s: repeated tasks %q, error %v", table, r.Repeated, err)
		}
	}
}

// Weights of adapted rows are relative, as in training: their unit does not matter, equal ones are as none,
// and a row of weight 0 is as absent.
func TestAdaptWeights(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, fitClinics("--rank", "0", "--no-curves", "--model", at("m.npz"))...)
	lines := strings.Split(strings.TrimSpace(string(readFile(t, newClinics))), "\n")
	table := func(name string, weight func(i int) string, keep func(i int) bool) string {
		text := lines[0] + ",w\n"
		for i, line := range lines[1:] {
			if keep(i) {
				text += line + "," + weight(i) + "\n"
			}
		}
		return write(t, dir, name, text)
	}
	all := func(int) bool { return true }
	constant := func(w string) func(int) string { return func(int) string { return w } }
	scaled := func(unit float64) func(int) string {
		return func(i int) string { return fmt.Sprint(unit * float64(1+i%3)) }
	}
	third := func(i int) bool { return i%3 > 0 }
	adapt := func(path string, more ...string) []byte {
		out := filepath.Join(dir, "out.npz")
		must(t, append([]string{"adapt", "--model", at("m.npz"), "--out", out, path}, more...)...)
		must(t, "predict", "--model", out, "--standard-errors", "--out", at("p.csv"), newClinics)
		return readFile(t, at("p.csv"))
	}
	weights := []string{"--sample-weights", "w"}
	plain := adapt(newClinics)
	if got := adapt(table("equal.csv", constant("8"), all), weights...); string(got) != string(plain) {
		t.Error("weights of 8 count otherwise than none")
	}
	small := adapt(table("a.csv", scaled(.5), all), weights...)
	large := adapt(table("b.csv", scaled(1024), all), weights...)
	if string(small) != string(large) {
		t.Error("the unit of weights matters")
	}
	if string(small) == string(plain) {
		t.Error("weights have no effect")
	}
	zero := func(i int) string { return map[bool]string{true: "2", false: "0"}[third(i)] }
	if string(adapt(table("zero.csv", zero, all), weights...)) != string(adapt(table("some.csv", zero, third))) {
		t.Error("rows of weight 0 are not as absent")
	}
	first := func(i int) string { return map[bool]string{true: "2", false: "0"}[i < 2] }
	said := must(t, "adapt", "--model", at("m.npz"), "--out", at("n.npz"), "--sample-weights", "w",
		table("first.csv", first, all))
	has(t, said, "16 rows of weight 0 taken as absent.", "1 task added and 0 updated from 2 rows")
	none := table("none.csv", constant("0"), all)
	out, refused, code := difaltCommand(t, "adapt", "--model", at("m.npz"), "--out", at("n.npz"),
		"--sample-weights", "w", none)
	if code != cli.ExitFailure || !strings.Contains(refused, `none.csv: column "w": all weights are 0`) {
		t.Errorf("exit code %d: %s%s", code, out, refused)
	}
}
