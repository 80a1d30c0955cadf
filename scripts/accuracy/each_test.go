package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A folder without tables is an error, in place of an empty page.
func TestEachTable(t *testing.T) {
	folder := t.TempDir()
	var got []string
	list := func(name, seed, train, test string) error {
		got = append(got, name+" "+seed+" "+filepath.Base(train)+" "+filepath.Base(test))
		return nil
	}
	if err := eachTable(folder, "", list); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no tables: %v", err)
	}
	for _, name := range []string{"low-rank-3", "low-rank-12", "noise-3", "note"} {
		if err := os.WriteFile(filepath.Join(folder, name+".train.csv"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := eachTable(folder, "tiny,low-rank", list); err != nil {
		t.Fatal(err)
	}
	want := []string{"low-rank 12 low-rank-12.train.csv low-rank-12.test.csv", "low-rank 3 low-rank-3.train.csv low-rank-3.test.csv"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
