package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/internal/chart"
	"github.com/difalt/difalt/internal/measure"
)

// colors of the bars, one for each number of threads.
var colors = []chart.Color{chart.Blue, chart.Orange, chart.Green}

// plotFile returns the name of the plot of a shape, relative to bench/results.
func plotFile(r *measure.Result, s measure.Shape) string {
	return r.Machine.Name + "-" + s.Name + ".svg"
}

// comparisons returns the comparisons of a shape, one for each number of threads.
func comparisons(r *measure.Result, s measure.Shape) []measure.Comparison {
	var of []measure.Comparison
	for _, c := range r.Peers {
		if c.Shape == s.Name {
			of = append(of, c)
		}
	}
	return of
}

// plotted tells whether a result has a plot of a shape.
func plotted(r *measure.Result, s measure.Shape) bool { return len(comparisons(r, s)) > 0 }

// plots draws, for every shape that was compared, the share of the streaming read
// that each peer reaches. The axis ends at 100 %, the ceiling.
func plots(r *measure.Result, folder string) error {
	for _, s := range measure.Shapes() {
		of := comparisons(r, s)
		if len(of) == 0 {
			continue
		}
		image, err := figure(s, of).SVG()
		if err != nil {
			return fmt.Errorf("plot of %s: %w", s.Name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, plotFile(r, s)), image, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// figure shows the peers of comparisons with so many threads each.
func figure(s measure.Shape, of []measure.Comparison) *chart.Figure {
	p := chart.Panel{
		Title: fmt.Sprintf("%s: %d tasks, %d samples, %d features, rank %d", s.Name, s.Tasks, s.Samples, s.Features, s.Rank),
		X:     chart.Axis{Label: "speed of an iteration, % of a streaming read of X with as many threads", Min: 0, Max: 100},
	}
	// The first peer is drawn on top. Storage in float32 reads fewer bytes than the
	// ceiling counts and is left out.
	var names []string
	for _, peer := range slices.Backward(of[0].Peers) {
		if !strings.Contains(peer.Name, "float32") {
			p.Y.Marks = append(p.Y.Marks, chart.Mark{Value: float64(len(names)), Label: peer.Name})
			names = append(names, peer.Name)
		}
	}
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	thickness := 0.75 / float64(len(of))
	for i, c := range of {
		bars := chart.Series{Name: fmt.Sprintf("threads: %d", c.Threads), Style: chart.Style{Color: colors[i%len(colors)], Bar: thickness, Lie: true}}
		for j, name := range names {
			if t := c.Peer(name); t.MS > 0 {
				bars.X = append(bars.X, min(100*c.ReadMS/t.MS, 100))
				bars.Y = append(bars.Y, float64(j)+thickness*(float64(len(of)-1)/2-float64(i)))
			}
		}
		p.Series = append(p.Series, bars)
	}
	return &chart.Figure{Width: 7.2, Height: 0.26 * float64(len(names)+5), Legend: true, Panels: []chart.Panel{p}}
}
