//go:build unix

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestUpdate stores twice: the second time replaces what it measured, and nothing else.
func TestUpdate(t *testing.T) {
	folder := t.TempDir()
	store := func(all ...comparison) string {
		path, err := update(folder, "box", "", all)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	store(comparison{Shape: "a", Threads: 1, ReadMS: 1}, comparison{Shape: "a", Threads: 2, ReadMS: 2})
	want := []comparison{{Shape: "a", Threads: 1, ReadMS: 3, Peers: []peerTime{{Name: "p", Absent: "why"}}}, {Shape: "a", Threads: 2, ReadMS: 2}}
	r, err := loadResult(store(want[0]))
	if err != nil {
		t.Fatal(err)
	}
	if r.Machine.Name != "box" || r.Machine.Cores < 1 || !reflect.DeepEqual(r.Peers, want) {
		t.Errorf("read %+v, want a machine named box and %+v", r, want)
	}
	if err := os.WriteFile(filepath.Join(folder, "bad.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := update(folder, "bad", "", nil); err == nil || !strings.Contains(err.Error(), "bad.json") {
		t.Errorf("a damaged file: error %v, want one that names it", err)
	}
}
