package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run that diverges replaces nothing that a good one has written: model, trace and
// page stay what they were, the exit code says so, and no other file remains.
func TestDivergedFitKeepsFiles(t *testing.T) {
	t.Parallel()
	inFull(t)
	dir := t.TempDir()
	args := []string{"fit", "--data", clinics, "--task", "clinic", "--target", "score", "--drop", "patient",
		"--iterations", "40", "--ridge", "3", "--method", "dif",
		"--model", filepath.Join(dir, "m.npz"), "--trace", filepath.Join(dir, "t.csv"), "--report", filepath.Join(dir, "report")}
	if _, stderr, code := difaltCommand(t, args...); code != 0 {
		t.Fatal(stderr)
	}
	before := folder(t, dir)
	if len(before) < 5 {
		t.Fatalf("there are %d files", len(before))
	}
	for _, step := range []string{"1", "1e6", "1e20", "1e100", "1e150"} { // the automatic one is near 1e-2
		_, stderr, code := difaltCommand(t, append(args, "--step", step)...)
		if code != exitDiverged || !strings.Contains(stderr, "diverged") || !strings.Contains(stderr, "step") {
			t.Errorf("step %s: exit code %d, message %q", step, code, stderr)
		}
		after := folder(t, dir)
		if len(after) != len(before) {
			t.Errorf("step %s: %d files, want %d", step, len(after), len(before))
		}
		for name, content := range before {
			if !bytes.Equal(after[name], content) {
				t.Errorf("step %s: %s was replaced", step, name)
			}
		}
	}
	// Nor does it write into a folder that was not there.
	fresh := filepath.Join(dir, "fresh")
	if _, _, code := difaltCommand(t, append(args, "--step", "1e6", "--report", fresh)...); code != exitDiverged {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a diverged run has made its folder")
	}
}

// folder returns the files below a folder.
func folder(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Flags keep the names that they had.
func TestFormerNames(t *testing.T) {
	inFull(t)
	path, out1 := fitClinics(t, "--iterations", "20", "--ridge", "3", "--methods", "scaled")
	if !strings.Contains(out1, "Estimated subspace distance") {
		t.Errorf("the report does not say how far U may be from the best:\n%s", out1)
	}
	stdout, _, _ := difaltCommand(t, "model", "show", path)
	if !strings.Contains(stdout, "trained by scaled") {
		t.Errorf("--methods was not --method:\n%s", stdout)
	}
	out := filepath.Join(t.TempDir(), "p.csv")
	if _, stderr, code := difaltCommand(t, "predict", "--model", path, "--data", clinics, "--out", out, "--stderr"); code != 0 {
		t.Fatal(stderr)
	}
	if rows := records(t, out); rows[0]["sample_stderr"] == "" {
		t.Error("--stderr was not --standard-errors")
	}
}
