package theory

import (
	"context"
	"flag"
	"math"
	"math/cmplx"
	"os"
	"path/filepath"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/chart"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// go test ./internal/theory -run 'Rates|Bias' -args -figures $PWD/docs/theory
var figures = flag.String("figures", "", "draw what TestLocalRates and TestBias measure, over more rounds, into a folder")

// tried returns some numbers of rounds, more for figures.
func tried() []int {
	if *figures != "" {
		return []int{1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30}
	}
	return []int{2, 9}
}

const rateNodes, rateRank = 10, 3

// drawn returns a problem on a graph.
func drawn(t *testing.T, nodes, d, tasks, n, r int, noise float64) (*difalt.Problem, *topology.Weights) {
	t.Helper()
	all := make([]int, nodes)
	for g := range all {
		all[g] = g
	}
	p, err := synth.Data{Features: d, Tasks: tasks, Samples: n, Rank: r, Kappa: 2, Noise: noise}.Generate(context.Background(), nodes, all, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Parse("ring", nodes, 2)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	return p, w
}

// curve returns the largest distance of a node from the Truth in every iteration.
func curve(t *testing.T, p *difalt.Problem, w *topology.Weights, o difalt.Options) (sd []float64) {
	t.Helper()
	net, err := consensus.New(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Rank, o.EveryIteration, o.Workers = rateRank, true, 1
	o.Observer = func(r *difalt.Record) error { sd = append(sd, r.SDMax); return nil }
	if _, err := difalt.Run(t.Context(), p, net, o); err != nil {
		t.Fatal(err)
	}
	return sd
}

// rate is the mean factor of an iteration between two distances; NaN if the second is not reached.
func rate(sd []float64, from, to float64) float64 {
	first := -1
	for k, v := range sd {
		if first < 0 && v < from {
			first = k
		}
		if v < to {
			return math.Pow(v/sd[first], 1/float64(k-first))
		}
	}
	return math.NaN()
}

// TestRadius: the spectral radius of a small map is that of the eigenvalues of its dense matrix.
func TestRadius(t *testing.T) {
	p, w := drawn(t, 3, 6, 12, 9, 2, 0)
	l := Linearize(p.Nodes, p.Truth, w)
	defer l.Close()
	for name, set := range map[string]func(){"plain": func() { l.Plain(0.01, 1) }, "scaled": func() { l.Scaled(0.7, 2) }, "too long": func() { l.Scaled(4, 1) }} {
		set()
		dense := mat.NewDense(3*6*2, 3*6*2, nil)
		for j := range 36 {
			e := []*kernel.Basis{kernel.NewBasis(6, 2), kernel.NewBasis(6, 2), kernel.NewBasis(6, 2)}
			e[j/12].Col(j % 12 / 6)[j%6] = 1
			for _, v := range e {
				l.horizontal(v)
			}
			l.apply(e, 0)
			for i := range 36 {
				dense.Set(i, j, e[i/12].Col(i % 12 / 6)[i%6])
			}
		}
		var eig mat.Eigen
		if !eig.Factorize(dense, mat.EigenNone) {
			t.Fatal("no eigenvalues")
		}
		want := 0.0
		for _, v := range eig.Values(nil) {
			want = max(want, cmplx.Abs(v))
		}
		if got := l.Radius(); math.Abs(got-want) > 2e-3*want {
			t.Errorf("%s: %g, want %g", name, got, want)
		}
	}
}

// TestLocalRates: runs converge at the rate that the linearisation predicts, and Anderson
// acceleration not faster than Krylov's bound.
func TestLocalRates(t *testing.T) {
	p, w := drawn(t, rateNodes, 30, 50, 30, rateRank, 0)
	l := Linearize(p.Nodes, p.Truth, w)
	defer l.Close()
	names := []string{"plain", "scaled", "accelerated"}
	predicted, measured := map[string][]float64{}, map[string][]float64{}
	var x []float64
	for k, rounds := range tried() {
		x = append(x, math.Pow(w.Gamma(), float64(rounds)))
		init, err := difalt.Initialize(t.Context(), p, network(t, w), difalt.Options{Rank: rateRank})
		if err != nil {
			t.Fatal(err)
		}
		runs := map[string]difalt.Options{
			"plain":       {Method: difalt.DifAltGDmin, Rounds: rounds, Step: init.Step, Iterations: 800},
			"scaled":      {Method: difalt.ScaledDiffusion, Rounds: rounds, Scaled: difalt.ScaledOptions{Step: 0.7}, Iterations: 600},
			"accelerated": {Method: difalt.Accelerated, Rounds: rounds, Scaled: difalt.ScaledOptions{Step: 0.7}, Iterations: 200},
		}
		for _, name := range names {
			switch l.Scaled(0.7, rounds); name {
			case "plain":
				l.Plain(init.Step, rounds)
				fallthrough
			case "scaled":
				predicted[name] = append(predicted[name], l.Radius())
			case "accelerated":
				predicted[name] = append(predicted[name], l.Krylov())
			}
			measured[name] = append(measured[name], rate(curve(t, p, w, runs[name]), 1e-8, 1e-12))
			want, got := predicted[name][k], measured[name][k]
			t.Logf("%d rounds, %s: predicted %.4f, measured %.4f", rounds, name, want, got)
			switch exact := name != "accelerated"; {
			case math.IsNaN(got) && want < 0.98:
				t.Errorf("%d rounds, %s: did not arrive; predicted %.4f", rounds, name, want)
			case exact && want < 0.98 && math.Abs(got-want) > 0.06*(1-want):
				t.Errorf("%d rounds, %s: %.4f an iteration, predicted %.4f", rounds, name, got, want)
			case !exact && got < want-0.03:
				t.Errorf("%d rounds: accelerated at %.4f an iteration, below Krylov's %.4f", rounds, got, want)
			}
		}
	}
	if *figures != "" {
		drawRates(t, x, predicted, measured, names)
	}
}

// TestBias: under noise diffusion ends as far from the minimiser for the data of all nodes as the
// linearisation predicts.
func TestBias(t *testing.T) {
	p, w := drawn(t, rateNodes, 40, 120, 20, rateRank, 0.01)
	alone, err := topology.Parse("complete", rateNodes, 1)
	if err != nil {
		t.Fatal(err)
	}
	mean, err := topology.NewWeights(alone, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	res, err := difalt.Run(t.Context(), p, network(t, mean), difalt.Options{Rank: rateRank, Method: difalt.Accelerated, Tolerance: 1e-12, Agreement: consensus.Agreement{Polynomial: consensus.Tree}})
	if err != nil || res.Status != difalt.Converged {
		t.Fatal(err, res.Status)
	}
	pooled := *p
	pooled.Truth = res.U[0]
	l := Linearize(p.Nodes, res.U[0], w)
	defer l.Close()
	var x, predicted, measured []float64
	for _, rounds := range tried() {
		l.Scaled(0.3, rounds)
		sd := curve(t, &pooled, w, difalt.Options{Method: difalt.ScaledDiffusion, Rounds: rounds, Scaled: difalt.ScaledOptions{Step: 0.3}, Iterations: 400})
		want, got := l.Bias(), sd[len(sd)-1]
		t.Logf("%d rounds, gamma^T_con %.3f: predicted %.3g, measured %.3g", rounds, math.Pow(w.Gamma(), float64(rounds)), want, got)
		if math.Abs(got-want) > 0.1*want {
			t.Errorf("%d rounds: ends %g from the minimiser, predicted %g", rounds, got, want)
		}
		x, predicted, measured = append(x, math.Pow(w.Gamma(), float64(rounds))), append(predicted, want), append(measured, got)
	}
	if *figures != "" {
		draw(t, "bias", "distance of diffusion's end from the minimiser of the pooled data", "Bias of the fixed point", chart.Panel{
			X: chart.Axis{Label: "γ^T_con", Log: true}, Y: chart.Axis{Log: true, Min: 1e-5, Max: 1e-2},
			Series: []chart.Series{
				{Name: "Scaled, s = 0.3, predicted", X: x, Y: predicted, Style: chart.Line(chart.Red, 1.2)},
				{Name: "measured", X: x, Y: measured, Style: chart.Style{Color: chart.Red, Dot: 2.5}},
			},
		})
	}
}

func network(t *testing.T, w *topology.Weights) *consensus.Network {
	t.Helper()
	net, err := consensus.New(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// drawRates draws lines of what is predicted, and dots of what is measured.
func drawRates(t *testing.T, x []float64, predicted, measured map[string][]float64, names []string) {
	t.Helper()
	p := chart.Panel{X: chart.Axis{Label: "γ^T_con", Zero: true}, Y: chart.Axis{Min: 0.2, Max: 1}}
	for k, name := range names {
		c := []chart.Color{chart.Blue, chart.Red, chart.Purple}[k]
		label := map[string]string{"plain": "Dif-AltGDmin", "scaled": "Scaled, s = 0.7", "accelerated": "Accelerated"}[name]
		what := ", predicted"
		if name == "accelerated" {
			what = ", Krylov's bound"
		}
		dots := chart.Series{Name: label + ", measured", Style: chart.Style{Color: c, Dot: 2.5}}
		for i, v := range measured[name] {
			if !math.IsNaN(v) {
				dots.X, dots.Y = append(dots.X, x[i]), append(dots.Y, v)
			}
		}
		p.Series = append(p.Series, chart.Series{Name: label + what, X: x, Y: predicted[name], Style: chart.Line(c, 1.2)}, dots)
	}
	draw(t, "rates", "factors of an iteration, predicted and measured", "Factor of an iteration", p)
}

func draw(t *testing.T, name, title, y string, p chart.Panel) {
	t.Helper()
	f := &chart.Figure{Panels: []chart.Panel{p}, Y: y, Title: title}
	if err := os.WriteFile(filepath.Join(*figures, name+".svg"), f.SVG(), 0o666); err != nil {
		t.Fatal(err)
	}
}
