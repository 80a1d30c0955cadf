package mixed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/npz"
	"gonum.org/v1/gonum/floats"
)

// full returns parameters with all optional arrays.
func full() Parameters {
	p := synthetic()
	p.Goodness = Goodness{Evidence: -123.5, R2Marginal: .3, R2Conditional: .6}
	p.Effects = &Estimate{Mean: p.Tasks.Theta[:9], Covariance: p.Tasks.Covariance(0), Freedom: 7}
	p.Prior.Freedom, p.Prior.Noise.Freedom, p.Prior.Noise.TaskFreedom = 3, 80, 5
	p.Tasks.Noise, p.Tasks.Freedom = []float64{.1, .2, .3, .4}, []float64{10, 11, 12, 13}
	return p
}

func bytesOf(t testing.TB, m *Model) []byte {
	t.Helper()
	var out bytes.Buffer
	check.Done(m.Save(&out))
	return out.Bytes()
}

func readBytes(b []byte) (*Model, error) { return Load(bytes.NewReader(b), int64(len(b))) }

func TestSaveLoad(t *testing.T) {
	bare := full()
	bare.Effects, bare.Prior.Rank, bare.Prior.Loadings, bare.Design.Curves = nil, 0, nil, nil
	bare.Prior.Noise.TaskFreedom, bare.Tasks.Noise, bare.Tasks.Freedom, bare.Tasks.Covariance = 0, nil, nil, nil
	bare.Mean, bare.MeanCovariance, bare.Prior.Deviations, bare.Tasks.Theta = bare.Mean[:7], bare.MeanCovariance[:28], bare.Prior.Deviations[:7], bare.Tasks.Theta[:28]
	constant := Parameters{Target: Target{Scale: 1, Log: true}, Mean: []float64{1}, MeanCovariance: []float64{1}, Prior: Prior{Deviations: []float64{1}, Noise: Noise{Variance: 1}},
		Tasks: Tasks{Names: []string{""}, Samples: []int{0}, Theta: []float64{2}}}
	for name, p := range map[string]Parameters{"all arrays": full(), "required arrays": bare, "no features": constant} {
		t.Run(name, func(t *testing.T) {
			m := check.OK(New(p))
			path := filepath.Join(t.TempDir(), "m.npz")
			check.Done(os.WriteFile(path, bytesOf(t, m), 0o600))
			got := check.OK(LoadFile(path))
			check.FailIf(t, !bytes.Equal(bytesOf(t, got), bytesOf(t, m)),
				"the model that was loaded is written with other bytes")
			x := make([]float64, len(m.Features()))
			for _, task := range []string{m.Tasks()[0], "new"} {
				a, _ := m.PredictError(task, x)
				if b, err := got.PredictError(task, x); a != b || err != nil {
					t.Errorf("prediction is %v, %v: want %v", b, err, a)
				}
			}
			if !reflect.DeepEqual(got.Effects(), m.Effects()) || got.p.Goodness != m.p.Goodness || got.p.Estimator != m.p.Estimator {
				t.Error("effects, goodness or estimator have changed")
			}
		})
	}
}

// contents are the arrays of a model file, by name.
type contents struct {
	names   []string
	texts   map[string][]string
	shapes  map[string][]int
	numbers map[string][]float64
}

func contentsOf(t *testing.T, m *Model) *contents {
	t.Helper()
	file := bytesOf(t, m)
	r := check.OK(npz.NewReader(bytes.NewReader(file), int64(len(file))))
	c := &contents{r.Names(), map[string][]string{}, map[string][]int{}, map[string][]float64{}}
	for _, name := range c.names {
		a, err := r.Array(name)
		if err == nil && a.Type() == "string" {
			c.texts[name], err = a.Strings()
		} else if err == nil {
			c.numbers[name], err = a.Float64s()
		}
		if err != nil {
			t.Fatal(err)
		}
		c.shapes[name] = a.Shape
	}
	return c
}

// read returns the model of a file with the contents.
func (c *contents) read(t *testing.T) (*Model, error) {
	t.Helper()
	var out bytes.Buffer
	w := npz.NewWriter(&out)
	for _, name := range c.names {
		switch v, isText := c.texts[name]; {
		case isText:
			w.Strings(name, c.shapes[name], v)
		case name == "samples" && len(c.shapes[name]) == 1 && !slices.ContainsFunc(c.numbers[name], math.IsNaN):
			list := make([]int, len(c.numbers[name]))
			for i, v := range c.numbers[name] {
				list[i] = int(v)
			}
			w.Ints(name, list)
		default:
			w.Float64s(name, c.shapes[name], c.numbers[name])
		}
	}
	check.Done(w.Close())
	return readBytes(out.Bytes())
}

// TestFormula computes a prediction as the documentation of Write does, from the arrays of the file.
func TestFormula(t *testing.T) {
	m := check.OK(New(full()))
	c := contentsOf(t, m)
	var h struct {
		Target struct{ Center, Scale float64 }
		Curves []int
	}
	if err := json.Unmarshal([]byte(c.texts["header"][0]), &h); err != nil || !slices.Equal(h.Curves, []int{0}) {
		t.Fatalf("header %v, %v", h, err)
	}
	x, z := []float64{35, math.NaN(), 0, 0, 1, 7}, []float64{1} // 35 is a knot: the columns of the curve are -2 and 1
	for j, v := range x {
		if math.IsNaN(v) {
			v = c.numbers["fill"][j]
		}
		if z = append(z, 0); c.numbers["scale"][j] > 0 {
			z[1+j] = (v - c.numbers["center"][j]) / c.numbers["scale"][j]
		}
	}
	z = append(z, c.numbers["values.0"][1], c.numbers["values.0"][5])
	got, _, err := m.Predict("e", x)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "prediction", got, h.Target.Center+h.Target.Scale*floats.Dot(c.numbers["theta"][2*9:][:9], z))
}

// Every array is checked for its presence, its shape, and numbers that are not finite.
func TestDamagedArrays(t *testing.T) {
	m := check.OK(New(full()))
	if _, err := contentsOf(t, m).read(t); err != nil {
		t.Fatal(err)
	}
	for name := range contentsOf(t, m).numbers {
		for damage, f := range map[string]func(c *contents, v []float64){
			"missing": func(c *contents, _ []float64) {
				c.names = slices.DeleteFunc(c.names, func(s string) bool { return s == name })
			},
			"longer": func(c *contents, v []float64) {
				shape := c.shapes[name]
				n := len(v) / shape[len(shape)-1]
				shape[len(shape)-1]++
				c.numbers[name] = append(v, make([]float64, n)...)
			},
			"flat": func(c *contents, v []float64) { c.shapes[name] = []int{1, 1, len(v)} },
			"NaN":  func(_ *contents, v []float64) { v[len(v)-1] = math.NaN() },
			"Inf":  func(_ *contents, v []float64) { v[0] = math.Inf(-1) },
		} {
			optional := damage == "missing" && (name == "covariance" || name == "effects")
			if optional || name == "samples" && damage == "Inf" {
				continue
			}
			t.Run(name+" "+damage, func(t *testing.T) {
				c := contentsOf(t, m)
				f(c, c.numbers[name])
				_, err := c.read(t)
				want := fmt.Sprintf("%q", name)
				if curve := strings.HasPrefix(name, "knots") || strings.HasPrefix(name, "values"); err != nil && curve {
					want = `curve 0|"(knots|values).0"`
				}
				check.FailIf(t, err == nil || !regexp.MustCompile(want).MatchString(err.Error()),
					"error %v does not name the array", err)
			})
		}
	}
}

func TestHeaders(t *testing.T) {
	m := check.OK(New(full()))
	file := contentsOf(t, m)
	file.shapes["task"] = []int{2, 2}
	_, err := file.read(t)
	check.Error(t, err, `array "task" is (2, 2) string: one dimension`)
	file.names = file.names[1:]
	_, err = file.read(t)
	check.Error(t, err, `it has no array "header"`)
	_, err = LoadFile("absent.npz")
	check.Error(t, err, "absent.npz: no such file")
	for _, c := range []struct{ name, old, new, want string }{
		{"version", `"version":1`, `"version":8`, "has version 8, and this program reads version 1"},
		{"format", "difalt model", "another", "not a model file"},
		{"text", "{", "", "not a model file"},
		{"type", `"rank":2`, `"rank":"2"`, "not a model file"},
		{"rank", `"rank":2`, `"rank":3`, `array "loadings"`},
		{"negative rank", `"rank":2`, `"rank":-3`, "the rank is -3"},
		{"huge rank", `"rank":2`, `"rank":9223372036854775807`, `array "loadings"`},
		{"noise", `"variance":0.3`, `"variance":0`, "variance of the noise is 0"},
		{"columns", `"dose"`, `"dosis"`, `array "feature"`},
		{"curve", `"curves":[0]`, `"curves":[6]`, "feature 6"},
		{"more curves", `"curves":[0]`, `"curves":[0,1]`, `"knots.1"`},
		{"target", `"scale":3`, `"scale":-3`, "scale of the target is -3"},
		{"freedom", `"effects":{"freedom":7}`, `"effects":{"freedom":-7}`, "freedom of the effects is -7"},
		{"share", `"r2_marginal":0.3`, `"r2_marginal":3`, "marginal R2 is 3: it must be from 0 to 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := contentsOf(t, m)
			header := &file.texts["header"][0]
			if !strings.Contains(*header, c.old) {
				t.Fatalf("no %s in %s", c.old, *header)
			}
			*header = strings.Replace(*header, c.old, c.new, 1)
			_, err := file.read(t)
			check.Error(t, err, c.want)
		})
	}
}

// Files with changed or missing bytes are refused, or give a model; they neither panic nor use
// memory beyond some buffers.
func TestDamagedFiles(t *testing.T) {
	file := bytesOf(t, check.OK(New(full())))
	rng := rand.New(rand.NewPCG(5, 6))
	var before, after runtime.MemStats
	for range 500 {
		bad := slices.Clone(file)
		for range 1 + rng.IntN(4) {
			bad[rng.IntN(len(bad))] = byte(rng.Uint32())
		}
		if rng.IntN(4) == 0 {
			bad = bad[:rng.IntN(len(bad))]
		}
		runtime.ReadMemStats(&before)
		m, err := readBytes(bad)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<22 {
			t.Fatalf("reading %d bytes allocates %d", len(bad), used)
		}
		if err == nil {
			if _, err := m.PredictError("n", []float64{44, 2.2, 0, 1, 0, 7}); err != nil {
				t.Errorf("a file that was accepted has a model that fails: %v", err)
			}
		}
	}
}

// Covariances beyond the documented limit are left out, and their tasks then count as unseen.
func TestLargeCovariance(t *testing.T) {
	const f, tasks = 299, maxCovariance/(300*301/2) + 1
	p := Parameters{
		Design: Design{Fill: make([]float64, f), Center: make([]float64, f), Scale: make([]float64, f)}, Target: Target{Scale: 1},
		Mean: make([]float64, f+1), MeanCovariance: make([]float64, dense.Triangle(f+1)),
		Prior: Prior{Deviations: slices.Repeat([]float64{.5}, f+1), Noise: Noise{Variance: 1}},
		Tasks: Tasks{Samples: make([]int, tasks), Theta: make([]float64, tasks*(f+1)), Covariance: func(int) []float64 { return nil }},
	}
	for i := range max(f, tasks) {
		if i < f {
			p.Schema.Columns = append(p.Schema.Columns, fmt.Sprint(i))
		}
		if i < tasks {
			p.Tasks.Names = append(p.Tasks.Names, fmt.Sprint(i))
		}
	}
	file := bytesOf(t, check.OK(New(p)))
	m, err := readBytes(file)
	if err != nil || m.p.Tasks.Covariance != nil || len(file) > 4<<20 {
		t.Fatalf("%d bytes, error %v", len(file), err)
	}
	if got, _ := m.PredictError("0", make([]float64, f)); got.StandardError != .5 {
		t.Errorf("standard error is %v, want that of an unseen task, .5", got.StandardError)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(p *Parameters)
	}{
		{"no tasks", "it needs a task", func(p *Parameters) { p.Tasks = Tasks{} }},
		{"repeated task", `array "task": entry 1 is "n", which is there twice`, func(p *Parameters) { p.Tasks.Names = []string{"n", "n", "e", "w"} }},
		{"repeated feature", `array "feature": entry 1 is "age", which is there twice`, func(p *Parameters) { p.Schema.Columns[1] = "age" }},
		{"no noise", "variance of the noise is 0", func(p *Parameters) { p.Prior.Noise.Variance = 0 }},
		{"noise without freedom", `array "noise_freedom" has 0 entries`, func(p *Parameters) { p.Prior.Noise.TaskFreedom, p.Tasks.Freedom = 0, nil }},
		{"noise of a task", `array "noise": entry 1 is 0: it must be finite and positive`, func(p *Parameters) { p.Tasks.Noise[1] = 0 }},
		{"samples", "number of samples", func(p *Parameters) { p.Tasks.Samples[0] = -1 }},
		{"deviations", `array "deviations": entry 0 is -1: it must be finite and not negative`, func(p *Parameters) { p.Prior.Deviations[0] = -1 }},
		{"rank", "the rank is 10: it must be from 0 to 9", func(p *Parameters) { p.Prior.Rank = 10 }},
		{"mean", `array "mean" has 8 entries: 9 are required`, func(p *Parameters) { p.Mean = p.Mean[1:] }},
		{"knots", "curve 0: knot 1 is 50, and the next 50", func(p *Parameters) { p.Design.Curves[0].Knots[1] = 50 }},
		{"values", "curve 0: it has 4 knots and 7 values", func(p *Parameters) { c := &p.Design.Curves[0]; c.Values = c.Values[1:] }},
		{"target", "center of the target is NaN", func(p *Parameters) { p.Target.Center = math.NaN() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := full()
			c.change(&p)
			_, err := New(p)
			check.Error(t, err, c.want)
		})
	}
	t.Run("covariance", func(t *testing.T) {
		p := full()
		p.Tasks.Covariance = func(int) []float64 { return append(make([]float64, 44), math.NaN()) }
		err := check.OK(New(p)).Save(&bytes.Buffer{})
		check.Error(t, err, `task "n" has the entry NaN`)
	})
}
