package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// describe says which flags fit asks for, and with these fit has nothing to ask.
func TestDescribeSaysWhatFitNeeds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	var b strings.Builder
	b.WriteString("clinic,age,in my region,note,none,y\n")
	for i := range 60 {
		b.WriteString(strings.Join([]string{"c" + string(rune('a'+i%6)), []string{"30", "41", "57"}[i%3], []string{"north", "south"}[i%2],
			"note " + strings.Repeat("x", i), "", []string{"1", "2", "4", "3", "7"}[i%5]}, ",") + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	fit := []string{"fit", "--data", path, "--task", "clinic", "--target", "y"}
	if _, errs, code := difaltCommand(t, fit...); code != exitFailure || !strings.Contains(errs, "--categorical") {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, args := range [][]string{{path}, {"--data", path}} {
		out, errs, code := difaltCommand(t, append([]string{"describe", "--task", "clinic", "--target", "y"}, args...)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		const want = "fit needs: --categorical 'in my region' --drop note,none\n"
		if !strings.Contains(out, "\n"+want) {
			t.Fatalf("output\n%s\nwant %q", out, want)
		}
	}
	if _, errs, code := difaltCommand(t, append(fit, "--categorical", "in my region", "--drop", "note,none")...); code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	for _, args := range [][]string{{path, "--data", path}, {}, {path, path}} {
		if _, errs, code := difaltCommand(t, append([]string{"describe"}, args...)...); code != exitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
		}
	}
}
