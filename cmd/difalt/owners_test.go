//go:build unix

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
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

// A node whose rows are not those of the model that it would replace warns in its log and its report. One
// with the same rows does not, nor one without a model.
func TestNodeWarnsOfOtherRows(t *testing.T) {
	t.Parallel()
	inFull(t)
	const warning, rows = "this training replaces", "other rows"
	n := newNetwork(t)
	train := func(more ...[]string) []outcome {
		again := newNetwork(t) // each is for one training
		again.dir = n.dir
		return again.train(t, together(t.Context()), more...)
	}
	for i, e := range train() {
		warned := strings.Contains(e.log+e.stdout, warning)
		check.FailIf(t, e.err != nil || warned, "%s, first: %v: %s", siteNames[i], e.err, e.log)
	}
	table := filepath.Join(n.dir, "site-b.csv")
	lines := strings.Split(strings.TrimSpace(string(readFile(t, table))), "\n")
	write(t, n.dir, "site-b.csv", strings.Join(lines[:len(lines)-1], "\n")+"\n") // one row less
	for i, e := range train(nil, nil, []string{"--least-small", "9"}) {
		said := strings.Join(strings.Fields(e.stdout), " ")
		want := []string{"", rows, "other rules"}[i]
		check.FailIf(t, e.err != nil, "%s: %v", siteNames[i], e.err)
		for name, text := range map[string]string{"log": e.log, "report": said} {
			has := strings.Contains(text, warning)
			right := has == (want != "") && (!has || strings.Contains(text, want))
			check.FailIf(t, !right, "%s, %s: %s", siteNames[i], name, text)
		}
	}
}
