package checkpoint

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
)

// TestOutcome: what is kept comes back, in a folder with checkpoints of others and with
// what a process that was killed has begun; what is damaged does not count, and what is of
// other settings is refused by name.
func TestOutcome(t *testing.T) {
	folder := t.TempDir()
	var told []string
	open := func(settings ...wire.Setting) (*Folder, *Outcome, error) {
		t.Helper()
		f, err := Open(folder, "a", settings, 3, func(s string) { told = append(told, s) })
		if err != nil {
			t.Fatal(err)
		}
		o, err := f.Outcome(func(s string) { told = append(told, s) })
		return f, o, err
	}
	rank := wire.Setting{Name: "--rank", Value: "2"}
	f, o, err := open(rank)
	if err != nil || o != nil {
		t.Fatalf("an empty folder has %v, %v", o, err)
	}
	want := &Outcome{Settings: []wire.Setting{rank}, Everybody: true, Heading: []byte("h"), Report: []byte("r"), Model: []byte("m"), Trace: []byte{}}
	begun := filepath.Join(folder, ".a.done.0123456789abc.part")
	if err := os.WriteFile(begun, []byte("difalt"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Finish(want); err != nil {
		t.Fatal(err)
	}
	if _, o, err = open(rank); err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("kept %v, and got %v, %v", want, o, err)
	}
	if _, err := os.Stat(begun); err == nil {
		t.Error("what was begun is still there")
	}
	if _, _, err = open(wire.Setting{Name: "--rank", Value: "3"}); err == nil || !strings.Contains(err.Error(), "a.done: --rank was 2, and is 3 now") {
		t.Errorf("of other settings: %v", err)
	}
	text, err := os.ReadFile(f.outcome())
	if err != nil {
		t.Fatal(err)
	}
	for k := range text {
		text[k] ^= 16
		if _, err := DecodeOutcome(text); err == nil {
			t.Errorf("byte %d is damaged, and nobody notices", k)
		}
		if _, err := DecodeOutcome(text[:k]); err == nil {
			t.Errorf("%d of %d bytes, and nobody notices", k, len(text))
		}
		text[k] ^= 16
	}
	if err := os.WriteFile(f.outcome(), text[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, o, err = open(rank); o != nil || err != nil || len(told) != 1 || !strings.Contains(told[0], "a.done: damaged") {
		t.Errorf("a damaged one: %v, %v, told %q", o, err, told)
	}
}
