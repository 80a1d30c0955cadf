//go:build unix

package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The parameters that owners share have the same bits for any order in which the owners are listed.
func TestUpDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	inFull(t)
	dir := sites(t)
	train := func(pattern string) any {
		path := filepath.Join(t.TempDir(), "m.npz")
		must(t, slices.Concat([]string{"up", "--data", pattern, "--model", path}, siteFlags)...)
		p := load(t, path).Parameters()
		return []any{p.Mean, p.MeanCovariance, p.Prior, p.Design.Center, p.Design.Scale, p.Target}
	}
	reversed := t.TempDir()
	for i, name := range siteNames {
		write(t, reversed, siteNames[len(siteNames)-1-i]+".csv", string(readFile(t, dir, name+".csv")))
	}
	diff := cmp.Diff(train(filepath.Join(dir, "site-*.csv")), train(filepath.Join(reversed, "site-*.csv")))
	if diff != "" {
		t.Error(diff)
	}
}
