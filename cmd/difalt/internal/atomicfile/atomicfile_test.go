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
		if err := WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if err := WriteFile(filepath.Join(dir, "none", "a"), nil, 0o666); err == nil {
		t.Error("wrote into a folder that is not there")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}

// A file that may not be written is not replaced either.
func TestWriteProtected(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new"), 0o666); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("error is %v", err)
	}
}

// A full disk is an error that does not name the temporary file.
func TestFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	err := WriteFile("/dev/full", []byte("text"), 0o666)
	if err == nil || !strings.Contains(err.Error(), "cannot write /dev/full: no space left on device") {
		t.Errorf("error is %v", err)
	}
}

func TestWriteFolder(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "a", "b")
	if err := CheckFolder(page); err != nil {
		t.Fatal(err)
	}
	checkOnly(t, dir)
	if err := WriteFolder(page, map[string][]byte{"x": []byte("1"), "y": []byte("2")}, nil); err != nil {
		t.Fatal(err)
	}
	checkOnly(t, page, "x", "y")
	// One of the files cannot be written: the others stay as they are.
	if err := os.Mkdir(filepath.Join(page, "z"), 0o777); err != nil {
		t.Fatal(err)
	}
	for range 10 { // the order is random
		err := WriteFolder(page, map[string][]byte{"x": []byte("3"), "y": []byte("4"), "z": nil}, nil)
		if err == nil || !strings.Contains(err.Error(), "it is a folder") {
			t.Errorf("error is %v", err)
		}
		for name, want := range map[string]string{"x": "1", "y": "2"} {
			if b, _ := os.ReadFile(filepath.Join(page, name)); string(b) != want {
				t.Errorf("%s holds %q", name, b)
			}
		}
		checkOnly(t, page, "x", "y", "z")
	}
	// What was made for files that cannot be written does not stay either.
	if err := WriteFolder(filepath.Join(dir, "new", "new"), map[string][]byte{"no/such": nil}, nil); err == nil {
		t.Error("no error")
	}
	checkOnly(t, dir, "a")
	// What is no folder is no parent of one.
	for _, path := range []string{filepath.Join(page, "x"), filepath.Join(page, "x", "deep")} {
		if err := CheckFolder(path); err == nil || !strings.Contains(err.Error(), "not a folder") {
			t.Errorf("%s: error is %v", path, err)
		}
	}
}

// Files that are finished keep those before them until they are committed.
func TestFinish(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []bool{false, true} {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("new")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		want := "old"
		if commit {
			want = "new"
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("the file holds %q, %v, want %q", b, err, want)
		}
		checkOnly(t, dir, "f")
	}
}
