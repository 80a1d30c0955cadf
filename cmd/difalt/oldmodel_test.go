package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/internal/check"
)

// changeHeader writes a copy of a model file whose header is another text of the same length.
func changeHeader(t *testing.T, from, to string, change func(header []byte) []byte) {
	t.Helper()
	r := check.OK(zip.OpenReader(from))
	defer r.Close()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range r.File {
		content := check.OK(io.ReadAll(check.OK(f.Open())))
		if f.Name == "header.npy" {
			changed := change(bytes.Clone(content))
			if len(changed) != len(content) || bytes.Equal(changed, content) {
				t.Fatalf("the header of %d bytes has %d after the change, or no change", len(content), len(changed))
			}
			content = changed
		}
		check.OK(check.OK(w.CreateHeader(&zip.FileHeader{Name: f.Name, Method: f.Method})).Write(content))
	}
	check.Done(w.Close())
	check.Done(os.WriteFile(to, out.Bytes(), 0o666))
}

// Commands that read a model refuse one of another version, name both versions, and write no file.
func TestModelOfOtherVersion(t *testing.T) {
	x, dir := fixture(t), t.TempDir()
	old, out := filepath.Join(dir, "old.npz"), filepath.Join(dir, "out")
	for _, version := range []string{"0", "2"} {
		changeHeader(t, x.model, old, func(header []byte) []byte {
			return bytes.Replace(header, []byte(`"version":1`), []byte(`"version":`+version), 1)
		})
		for _, args := range [][]string{
			{"adapt", "--model", old, "--missing", "mean", "--out", out, x.table},
			{"predict", "--model", old, "--missing", "mean", "--out", out, x.table},
			{"model", "show", "--out", out, old},
		} {
			want := "old.npz: the model file has version " + version +
				", and this program reads version 1: train the model again"
			refuses(t, cli.ExitFailure, want, args...)
			if _, err := os.Stat(out); err == nil {
				t.Errorf("difalt %q has written a file", args)
			}
		}
	}
}

// A model of an earlier build has no digests of rows. It adapts as another one, but cannot say which rows it
// has learned before.
func TestModelOfEarlierBuild(t *testing.T) {
	x, dir := fixture(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	changeHeader(t, x.model, at("old.npz"), func(header []byte) []byte {
		digests := regexp.MustCompile(`"digests":\[[0-9,]*\],?|,"digests":\[[0-9,]*\]`)
		return digests.ReplaceAllFunc(header, func(list []byte) []byte { return bytes.Repeat([]byte(" "), len(list)) })
	})
	twice := "count twice now"
	for model, says := range map[string]bool{x.model: true, at("old.npz"): false} {
		name := map[bool]string{true: "new", false: "earlier"}[says]
		adapted := at(name + ".npz")
		_, said, code := difaltCommand(t, "adapt", "--model", model, "--missing", "mean", "--out", adapted, x.table)
		if code != 0 || strings.Contains(strings.Join(strings.Fields(said), " "), twice) != says {
			t.Errorf("%s: exit code %d: %s", name, code, said)
		}
		predictions := at(name + ".csv")
		must(t, "predict", "--model", adapted, "--missing", "mean", "--standard-errors", "--out", predictions, x.table)
	}
	if !bytes.Equal(readFile(t, at("new.csv")), readFile(t, at("earlier.csv"))) {
		t.Error("the model of an earlier build adapts otherwise")
	}
}
