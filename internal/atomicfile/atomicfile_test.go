package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommitReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"one", "two"} {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if text == "two" {
			if b, _ := os.ReadFile(path); string(b) != "one" {
				t.Errorf("before Commit the file holds %q", b)
			}
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil { // does nothing after Commit
			t.Error(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("the file holds %q, %v", b, err)
		}
	}
	checkOnly(t, dir, "f")
}

func TestCloseLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	checkOnly(t, dir)
}

func TestCreateErrors(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "no", "f"): "no such file",
		dir:                           "it is a folder",
	} {
		_, err := Create(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cannot write "+path) {
			t.Errorf("%s: error is %v", path, err)
		}
	}
}

func checkOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(names) {
		t.Errorf("the folder holds %v, want %v", entries, names)
	}
}
