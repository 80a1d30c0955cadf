package main

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/svg"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colors of the bars, one for each number of threads.
var colors = []color.Color{
	color.RGBA{R: 0x33, G: 0x66, B: 0xaa, A: 0xff},
	color.RGBA{R: 0xee, G: 0x99, B: 0x33, A: 0xff},
	color.RGBA{R: 0x44, G: 0x99, B: 0x66, A: 0xff},
}

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
		if err := chart(s, of, filepath.Join(folder, plotFile(r, s))); err != nil {
			return fmt.Errorf("plot of %s: %w", s.Name, err)
		}
	}
	return nil
}

func chart(s measure.Shape, of []measure.Comparison, path string) error {
	// The first peer is drawn on top. Storage in float32 reads fewer bytes than the
	// ceiling counts and is left out.
	var names []string
	for i := len(of[0].Peers) - 1; i >= 0; i-- {
		if name := of[0].Peers[i].Name; !strings.Contains(name, "float32") {
			names = append(names, name)
		}
	}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s: %d tasks, %d samples, %d features, rank %d", s.Name, s.Tasks, s.Samples, s.Features, s.Rank)
	p.X.Label.Text = "speed of an iteration, % of a streaming read of X with as many threads"
	p.X.Min, p.X.Max = 0, 100
	p.NominalY(names...)
	p.Title.TextStyle.Font, p.X.Label.TextStyle.Font = svg.Font(vg.Points(12)), svg.Font(vg.Points(11))
	p.X.Tick.Label.Font, p.Y.Tick.Label.Font = svg.Font(vg.Points(9)), svg.Font(vg.Points(9))
	p.Legend.TextStyle.Font = svg.Font(vg.Points(10))
	p.Legend.Padding = vg.Points(3)
	p.Legend.XOffs = -vg.Points(6)
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	p.Legend.Top = false
	p.Add(plotter.NewGrid())
	width := vg.Points(14 / float64(len(of)))
	for i, c := range of {
		values := make(plotter.Values, len(names))
		for j, name := range names {
			if t := c.Peer(name); t.MS > 0 {
				values[j] = min(100*c.ReadMS/t.MS, 100)
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.Horizontal = true
		bars.Color = colors[i%len(colors)]
		bars.LineStyle.Width = 0
		bars.Offset = width * vg.Length(float64(len(of)-1)/2-float64(i))
		p.Add(bars)
		p.Legend.Add(fmt.Sprintf("threads: %d", c.Threads), bars)
	}
	image, err := svg.Draw(20*vg.Centimeter, vg.Length(len(names)+4)*0.7*vg.Centimeter, func(c draw.Canvas) error {
		p.Draw(draw.Crop(c, vg.Millimeter, -5*vg.Millimeter, vg.Millimeter, -2*vg.Millimeter))
		return nil
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, image, 0o666)
}
