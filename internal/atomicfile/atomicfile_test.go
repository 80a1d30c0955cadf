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

// A link stays, and what it points to is replaced; a device is written to.
func TestLinksAndDevices(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{link, os.DevNull} {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("new")); err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "new" {
		t.Errorf("the target holds %q, %v", b, err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is %v, %v", os.DevNull, info, err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, content := range []string{"first, which is longer", "second"} {
		if err := WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if err := WriteFile(filepath.Join(dir, "none", "a"), nil); err == nil {
		t.Error("wrote into a folder that is not there")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}
