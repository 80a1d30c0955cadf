//go:build unix

package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/topology"
)

// TestGraphTable: rounds and neighbours in the table of docs/network.md are those of the graphs. A
// sum goes from the farthest node to the root and back.
func TestGraphTable(t *testing.T) {
	_, page, _ := strings.Cut(networkPage(t), "## Which graph")
	page, _, _ = strings.Cut(page, "\n* ")
	number := func(s string) int {
		n, err := strconv.Atoi(strings.ReplaceAll(regexp.MustCompile(`[0-9,]*[0-9]`).FindString(s), ",", ""))
		if err != nil {
			t.Errorf("no number in %q", s)
		}
		return n
	}
	rows := 0
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		kind := regexp.MustCompile("^ `([a-z]+)`").FindStringSubmatch(line[min(1, len(line)):])
		if kind == nil || len(cells) != 8 {
			continue
		}
		rows++
		if by := strings.Contains(cells[1], "the default"); by != (kind[1] == options.DefaultGraph) {
			t.Errorf("%s is said to be the default: %v", kind[1], by)
		}
		degrees := strings.Split(strings.TrimSpace(cells[6]), ", ")
		for k, nodes := range []int{10, 100, 1000, 10000} {
			g, err := topology.Parse(kind[1], nodes, 1)
			if err != nil {
				t.Fatal(err)
			}
			if is := 2 * slices.Max(g.Distances(g.Center())); is != number(cells[2+k]) {
				t.Errorf("%v: %d rounds, in the table %q", g, is, cells[2+k])
			}
			if is := g.Degree(nodes - 1); is != number(degrees[min(k, len(degrees)-1)]) {
				t.Errorf("%v: %d neighbours, in the table %q", g, is, cells[6])
			}
		}
	}
	if rows != 4 {
		t.Errorf("%d rows of graphs", rows)
	}
}
