package atomicfile

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// check reports a file in a folder with another content than the wanted one, or another number of files.
func check(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(want) {
		t.Errorf("the folder holds %v, %v: want %q", entries, err, want)
	}
	for name, content := range want {
		if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != content {
			t.Errorf("%s holds %q, %v: want %q", name, b, err, content)
		}
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one with %q", err, want)
	}
}

// TestCommit: a file holds its old content until Commit, and for good without one.
func TestCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, c := range []struct {
		name                   string
		finish, commit         bool
		text, before, inTheEnd string
	}{
		{"new", false, true, "first, which is longer", "", "first, which is longer"},
		{"replaced", false, true, "two", "first, which is longer", "two"},
		{"given up", false, false, "three", "two", "two"},
		{"finished and given up", true, false, "four", "two", "two"},
		{"finished", true, true, "five", "two", "five"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Create(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteString(c.text)
			for i := 0; i < 2 && err == nil && c.finish; i++ {
				err = f.Finish()
			}
			if b, _ := os.ReadFile(path); err != nil || string(b) != c.before {
				t.Errorf("before Commit the file holds %q, %v", b, err)
			}
			for i := 0; i < 2 && err == nil && c.commit; i++ {
				err = f.Commit()
			}
			if err == nil {
				err = f.Close() // does nothing after Commit
			}
			if err != nil {
				t.Error(err)
			}
			check(t, dir, map[string]string{"f": c.inTheEnd})
		})
	}
}

// TestCreateErrors: errors name the path and the cause, not the temporary file.
func TestCreateErrors(t *testing.T) {
	dir := t.TempDir()
	protected := filepath.Join(dir, "protected")
	if err := os.WriteFile(protected, []byte("old"), 0o444); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{filepath.Join(dir, "no", "f"): "no such file", dir: "it is a folder",
		"/dev/full": "no space left on device"}
	if _, err := os.Stat("/dev/full"); err != nil || runtime.GOOS == "windows" {
		delete(cases, "/dev/full")
	}
	if os.Geteuid() > 0 { // root may write everything, and Windows has no such numbers
		cases[protected] = "permission denied"
	}
	for path, want := range cases {
		err := WriteFile(path, []byte("text"))
		checkError(t, err, want)
		checkError(t, err, "cannot write "+path+": ")
		if err := Check(path); path != "/dev/full" { // which only shows when it is written to
			checkError(t, err, want)
		}
	}
	if err := Check(filepath.Join(dir, "new")); err != nil {
		t.Error(err)
	}
	check(t, dir, map[string]string{"protected": "old"})
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
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Skip("a link is no link here")
	}
	for path, mode := range map[string]os.FileMode{link: os.ModeSymlink, os.DevNull: os.ModeDevice} {
		if err := WriteFile(path, []byte("new")); err != nil {
			t.Error(err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode()&mode == 0 {
			t.Errorf("%s is %v, %v", path, info, err)
		}
	}
	check(t, dir, map[string]string{"target": "new", "link": "new"})
}

// A link to a file that does not exist yet stays, and the file is made; links in a circle lead nowhere.
func TestLinksToNothing(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.Mkdir(at("a"), 0o777), os.Mkdir(at("b"), 0o777)); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"other": "b", "b/up": "../a/new", "circle": "back", "back": "circle"} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Skip(err)
		}
	}
	if err := WriteFile(at("other/up"), []byte("text")); err != nil { // the folder above is that of b
		t.Fatal(err)
	}
	if info, err := os.Lstat(at("b/up")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	check(t, at("a"), map[string]string{"new": "text"})
	checkError(t, WriteFile(at("circle"), nil), "cannot write "+at("circle")+": too many symbolic links")
}

// TestWriteFolder: all files of a folder change, or none, and folders that were made for nothing go.
func TestWriteFolder(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "a", "b")
	if err := CheckFolder(page); err != nil {
		t.Error(err)
	}
	check(t, dir, nil)
	content := map[string]Content{"b/x": Bytes([]byte("1")), "b/y": Bytes([]byte("2"))}
	if err := WriteFolder(filepath.Dir(page), content); err != nil {
		t.Fatal(err)
	}
	check(t, page, map[string]string{"x": "1", "y": "2"})
	if err := os.Mkdir(filepath.Join(page, "z"), 0o777); err != nil {
		t.Fatal(err)
	}
	checkError(t, CheckFolder(page, "x", "z"), "it is a folder")
	if err := CheckFolder(page, "x", "y", "new"); err != nil {
		t.Error(err)
	}
	odd := func(w io.Writer) error {
		_, _ = w.Write([]byte("5"))
		return errors.New("an odd content")
	}
	for want, last := range map[string]map[string]Content{
		"it is a folder": {"z": Bytes(nil)},
		"an odd content": {"y": odd},
	} {
		files := map[string]Content{"x": Bytes([]byte("3")), "y": Bytes([]byte("4"))}
		maps.Copy(files, last)
		checkError(t, WriteFolder(page, files), want)
		check(t, page, map[string]string{"x": "1", "y": "2", "z": ""})
	}
	checkError(t, CheckFolder(Stdout), "- is the standard output")
	checkError(t, WriteFolder(Stdout, map[string]Content{"a/x": Bytes(nil)}), "- is the standard output")
	long := strings.Repeat("x", 300)
	checkError(t, WriteFolder(dir, map[string]Content{long + "/x": Bytes(nil)}), "cannot make the folder")
	checkError(t,
		WriteFolder(filepath.Join(dir, "new", "new"),
			map[string]Content{"x": Bytes(nil), "x/" + long: Bytes(nil), "y/z": Bytes(nil)}), "cannot")
	check(t, dir, map[string]string{"a": ""})
	for _, path := range []string{filepath.Join(page, "x"), filepath.Join(page, "x", "deep")} {
		checkError(t, CheckFolder(path), "not a folder")
	}
	if _, err := os.Stat("/proc/self"); err == nil && runtime.GOOS != "windows" { // a folder to which nobody can write
		checkError(t, CheckFolder("/proc/new/folder"), "cannot write to /proc: ")
	}
}
