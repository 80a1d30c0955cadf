package federate

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestBoardFits: on a terminal no line wraps and none scrolls away, and the last one is kept.
func TestBoardFits(t *testing.T) {
	lines := []string{"a", "b é waits for c", "c", "d", "e", "all wait for c"}
	for _, x := range []struct {
		columns, rows int
		want          []string
	}{
		{0, 0, lines},
		{80, 7, lines},
		{80, 5, []string{"a", "b é waits for c", "... and 3 more", "all wait for c"}},
		{15, 40, []string{"a", "b é waits f...", "c", "d", "e", "all wait for c"}},
		{3, 2, lines},
	} {
		got := within(append([]string(nil), lines...), x.columns, x.rows)
		if !reflect.DeepEqual(got, x.want) {
			t.Errorf("%d columns and %d rows: %q, want %q", x.columns, x.rows, got, x.want)
		}
	}
}

// TestBoardForgets: nobody waits any more for or by a process that has ended.
func TestBoardForgets(t *testing.T) {
	b := NewBoard(new(bytes.Buffer), []string{"a", "b"})
	b.lines[0].follow(strings.NewReader(`{"msg":"progress","stage":"iterations","waits_for":"b","seconds":2}` + "\n"))
	if text := strings.Join(b.text(), "\n"); !strings.Contains(text, "all wait for b (edge a-b)") {
		t.Errorf("the board says %q", text)
	}
	b.lines[0].follow(strings.NewReader(`{"msg":"failed","why":"--rank is 2"}` + "\n"))
	if text := strings.Join(b.text(), "\n"); strings.Contains(text, "wait") || b.lines[0].becameOf(2, nil).Why != "--rank is 2" {
		t.Errorf("the board says %q", text)
	}
}

// TestBrokeOff: of a process that had no memory it is said in one line why it ended, and not with
// the code of a mistake in the command line.
func TestBrokeOff(t *testing.T) {
	for text, want := range map[string]End{
		"runtime: out of memory: cannot allocate 4194304-byte block (0 in use)\nfatal error: out of memory\n\nruntime stack:\nruntime.throw({0x12})\n\truntime/panic.go:1229 +0x48\n": {"a", 1, "the program broke off: runtime: out of memory: cannot allocate 4194304-byte block (0 in use)", nil, nil},
		"difalt: --rank is -1: want more\n": {"a", 2, "--rank is -1: want more", nil, nil},
	} {
		b := NewBoard(new(bytes.Buffer), []string{"a"})
		b.lines[0].follow(strings.NewReader(text))
		if got := b.lines[0].becameOf(2, nil); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
