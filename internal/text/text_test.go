package text

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 2: "2 rows"} {
		if got := Count(n, "row"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e\n", "f", "g"}
	for n, want := range map[int]string{0: "", 1: `"a"`, 2: `"a", "b"`, 5: `"a", "b", "c", "d", "e\n"`, 7: `"a", "b", "c", "d", "e\n" and 2 more`} {
		if got := Names(all[:n]); got != want {
			t.Errorf("%d names: %s, want %s", n, got, want)
		}
	}
}
