package text

import "testing"

func TestPlural(t *testing.T) {
	for n, want := range []string{"0 tasks", "1 task", "2 tasks"} {
		if got := Plural(n, "task"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTable(t *testing.T) {
	const want = "| a | b |\n|---|---|\n| 1 | 2 |"
	if got := Table([][]string{{"a", "b"}, {"1", "2"}}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
