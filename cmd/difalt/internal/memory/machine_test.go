package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// The tightest of a group and those above it counts.
func TestGroup(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"a/memory.max": "1000\n", "a/memory.current": "950\n", "a/memory.stat": "anon 3\ninactive_file 30\nactive_file 20\n",
		"a/b/memory.max": "max\n", "a/b/memory.current": "5\n",
		"memory.max": "5000\n", "memory.current": "1000\n",
	} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]float64{"/a/b": 100, "/a": 100, "/": 4000, "/c": 4000} {
		if got, ok := group(root, name, "memory.max", "memory.current", "inactive_file", "active_file"); !ok || got != want {
			t.Errorf("%s: %v %v, want %v", name, got, ok, want)
		}
	}
	if got, ok := group(dir, "/", "memory.max", "memory.current", "inactive_file", "active_file"); ok {
		t.Errorf("%v bytes where there is no limit", got)
	}
}
