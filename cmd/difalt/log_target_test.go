package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a fit of the logarithm says on its page, at the terminal and in help is about the logarithm.
func TestWordsOfLogTarget(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 52))
	rows := []string{"shop,size,sales"}
	for i := range 160 {
		size := rng.NormFloat64()
		rows = append(rows, fmt.Sprintf("s%d,%v,%v", i/8, size, math.Exp(5+0.1*float64(i/8)+0.7*size+0.2*rng.NormFloat64())))
	}
	dir := t.TempDir()
	data, path, page := filepath.Join(dir, "shops.csv"), filepath.Join(dir, "m.npz"), filepath.Join(dir, "report")
	if err := os.WriteFile(data, []byte(strings.Join(rows, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, choice := range []string{"yes", "no"} {
		if _, stderr, code := difaltCommand(t, "fit", "--data", data, "--task", "shop", "--target", "sales", "--log-target", choice, "--model", path, "--report", page); code != 0 {
			t.Fatal(stderr)
		}
		html, err := os.ReadFile(filepath.Join(page, "index.html"))
		if err != nil {
			t.Fatal(err)
		}
		shown, stderr, code := difaltCommand(t, "model", "show", path)
		if code != 0 {
			t.Fatal(stderr)
		}
		all := strings.Join(strings.Fields(string(html)+shown), " ")
		for _, words := range []string{
			"(intercept) is that logarithm where all columns are 0", "Logarithms of targets over predictions", "one standard deviation of a feature, in the logarithm of the target:",
			`"sales", by its logarithm`, "exponentials are factors of the target",
		} {
			if strings.Contains(all, words) != (choice == "yes") {
				t.Errorf("--log-target %s: %q is said: %v", choice, words, choice == "no")
			}
		}
	}
}
