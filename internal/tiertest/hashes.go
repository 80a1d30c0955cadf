package tiertest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/tile"
)

var write = flag.Bool("bits", false, "write the file of hashes from the results of this processor, which has AVX-512")

// Hashes compares the results of every tier with FMA with a file of hashes. f returns the hash of the results
// of each operation, by its name. A line of the file is a name, a hash, and the tiers that have other bits.
// The test is skipped where the environment names another kernel than the tiles.
func Hashes(t *testing.T, file string, f func() map[string]string) {
	tiers := tile.Available()[1:]
	if len(tiers) == 0 || tile.Race {
		t.Skip("no tier with FMA, or the race detector")
	}
	isTier := func(tier tile.Tier) bool { return tier.String() == tile.Requested() }
	if tile.Requested() != "" && !slices.ContainsFunc(tile.Available(), isTier) {
		t.Skipf("%s=%s computes in place of the tiles", tile.Variable, tile.Requested())
	}
	before := tile.Active()
	defer func() {
		if err := tile.Use(before); err != nil {
			t.Error(err)
		}
	}()
	results := map[tile.Tier]map[string]string{}
	for _, tier := range tiers {
		if err := tile.Use(tier); err != nil {
			t.Fatal(err)
		}
		results[tier] = f()
	}
	want, others := readHashes(t, file)
	if *write {
		want = results[tile.AVX512]
		writeHashes(t, file, want, others)
	}
	for _, tier := range tiers {
		got := results[tier]
		if len(got) != len(want) {
			t.Errorf("%s has %d lines for %d operations", file, len(want), len(got))
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			other := slices.Contains(others[name], tier.String())
			switch {
			case got[name] != want[name] && !other:
				t.Errorf("%s has other bits on %v; if the order of its sums was changed, write %s with -bits", name,
					tier, file)
			case got[name] == want[name] && other:
				t.Errorf("%s has the same bits on %v: delete this tier from its line in %s", name, tier, file)
			}
		}
	}
}

// readHashes returns the hash of each name in a file, and the tiers that have others.
func readHashes(t *testing.T, file string) (hashes map[string]string, others map[string][]string) {
	text, err := os.ReadFile(file)
	if err != nil && !*write {
		t.Fatal(err)
	}
	hashes, others = map[string]string{}, map[string][]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		hashes[fields[0]] = fields[1]
		others[fields[0]] = fields[2:]
	}
	return hashes, others
}

// writeHashes writes a file, with the tiers that it had.
func writeHashes(t *testing.T, file string, hashes map[string]string, others map[string][]string) {
	if len(hashes) == 0 {
		t.Fatal("this processor has no AVX-512")
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		fields := append([]string{name, hashes[name]}, others[name]...)
		fmt.Fprintln(&lines, strings.Join(fields, "\t"))
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}
