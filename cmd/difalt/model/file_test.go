package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/npz"
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
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readBytes(b []byte) (*Model, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func TestSaveLoad(t *testing.T) {
	bare := full()
	bare.Effects, bare.Prior.Rank, bare.Prior.Loadings, bare.Design.Curves = nil, 0, nil, nil
	bare.Prior.Noise.TaskFreedom, bare.Tasks.Noise, bare.Tasks.Freedom, bare.Tasks.Covariance = 0, nil, nil, nil
	bare.Mean, bare.MeanCovariance, bare.Prior.Deviations, bare.Tasks.Theta = bare.Mean[:7], bare.MeanCovariance[:28], bare.Prior.Deviations[:7], bare.Tasks.Theta[:28]
	constant := Parameters{Target: Target{Scale: 1, Log: true}, Mean: []float64{1}, MeanCovariance: []float64{1}, Prior: Prior{Deviations: []float64{1}, Noise: Noise{Variance: 1}},
		Tasks: Tasks{Names: []string{""}, Samples: []int{0}, Theta: []float64{2}}}
	for name, p := range map[string]Parameters{"all arrays": full(), "required arrays": bare, "no features": constant} {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, p)
			path := filepath.Join(t.TempDir(), "m.npz")
			if err := m.Save(path); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(bytesOf(t, got), bytesOf(t, m)) {
				t.Error("the model that was loaded is written with other bytes")
			}
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

// TestFormula computes a prediction as the documentation of Save does, from the arrays of the file.
func TestFormula(t *testing.T) {
	p := full()
	m := mustNew(t, p)
	r, err := npz.NewReader(bytes.NewReader(bytesOf(t, m)), int64(len(bytesOf(t, m))))
	if err != nil {
		t.Fatal(err)
	}
	get := func(name string) []float64 {
		a, err := r.Array(name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var h struct {
		Target struct{ Center, Scale float64 }
		Curves []int
	}
	header, _ := readStrings(r, "header")
	if err := json.Unmarshal([]byte(header[0]), &h); err != nil || !slices.Equal(h.Curves, []int{0}) {
		t.Fatalf("header %v, %v", h, err)
	}
	x := []float64{35, math.NaN(), 0, 0, 1, 7} // 35 is a knot: the columns of the curve are -2 and 1
	z := []float64{1}
	for j, v := range x {
		if math.IsNaN(v) {
			v = get("fill")[j]
		}
		s := get("scale")[j]
		if s > 0 {
			z = append(z, (v-get("center")[j])/s)
		} else {
			z = append(z, 0)
		}
	}
	z = append(z, get("values.0")[1], get("values.0")[5])
	y := 0.0
	for j, v := range get("theta")[2*9:][:9] {
		y += v * z[j]
	}
	got, _, err := m.Predict("e", x)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "prediction", got, h.Target.Center+h.Target.Scale*y)
}

// repack copies a model file, with arrays replaced: change returns the shape and the numbers of an array.
func repack(t *testing.T, file []byte, header func(string) string, change func(name string, shape []int, v []float64) ([]int, []float64)) []byte {
	t.Helper()
	r, err := npz.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := npz.NewWriter(&out)
	for _, name := range r.Names() {
		a, err := r.Array(name)
		if err != nil {
			t.Fatal(err)
		}
		if a.Text() {
			list, _ := a.Strings()
			if name == "header" {
				list[0] = header(list[0])
			}
			w.Strings(name, a.Shape, list)
			continue
		}
		v, err := a.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		shape, v := change(name, a.Shape, v)
		if shape == nil {
			continue
		}
		if name == "samples" && len(shape) == 1 {
			list := make([]int, len(v))
			for i := range v {
				list[i] = int(v[i])
			}
			w.Ints(name, list)
			continue
		}
		w.Float64s(name, shape, v)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Every array is checked for its presence, its shape, and numbers that are not finite.
func TestDamagedArrays(t *testing.T) {
	file := bytesOf(t, mustNew(t, full()))
	same := func(s string) string { return s }
	if _, err := readBytes(repack(t, file, same, func(_ string, s []int, v []float64) ([]int, []float64) { return s, v })); err != nil {
		t.Fatal(err)
	}
	arrays := strings.Fields("samples knots.0 values.0 fill center scale mean mean_covariance deviations loadings theta covariance effects effects_covariance noise noise_freedom")
	optional := "covariance effects"
	for _, name := range arrays {
		for damage, f := range map[string]func(shape []int, v []float64) ([]int, []float64){
			"missing": func([]int, []float64) ([]int, []float64) { return nil, nil },
			"longer": func(s []int, v []float64) ([]int, []float64) {
				return grown(s), append(v, make([]float64, product(grown(s))-len(v))...)
			},
			"flat": func(_ []int, v []float64) ([]int, []float64) { return []int{1, 1, len(v)}, v },
			"NaN":  func(s []int, v []float64) ([]int, []float64) { v[len(v)-1] = math.NaN(); return s, v },
			"Inf":  func(s []int, v []float64) ([]int, []float64) { v[0] = math.Inf(-1); return s, v },
		} {
			if damage == "missing" && strings.Contains(optional, name) || name == "samples" && len(damage) == 3 {
				continue
			}
			t.Run(name+" "+damage, func(t *testing.T) {
				bad := repack(t, file, same, func(at string, s []int, v []float64) ([]int, []float64) {
					if at == name {
						return f(slices.Clone(s), v)
					}
					return s, v
				})
				_, err := readBytes(bad)
				curve := strings.HasPrefix(name, "knots") || strings.HasPrefix(name, "values")
				if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) && !(curve && strings.Contains(err.Error(), "curve 0") || curve && strings.Contains(err.Error(), `"values.0"`)) {
					t.Errorf("error %v does not name the array", err)
				}
			})
		}
	}
}

func grown(shape []int) []int { shape = slices.Clone(shape); shape[len(shape)-1]++; return shape }

func product(shape []int) int {
	n := 1
	for _, k := range shape {
		n *= k
	}
	return n
}

func TestHeaders(t *testing.T) {
	file := bytesOf(t, mustNew(t, full()))
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
			bad := repack(t, file, func(s string) string {
				if !strings.Contains(s, c.old) {
					t.Fatalf("no %s in %s", c.old, s)
				}
				return strings.Replace(s, c.old, c.new, 1)
			}, func(_ string, s []int, v []float64) ([]int, []float64) { return s, v })
			if _, err := readBytes(bad); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Files with changed or missing bytes are refused, or give a model; they neither panic nor use
// memory beyond some buffers.
func TestDamagedFiles(t *testing.T) {
	file := bytesOf(t, mustNew(t, full()))
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
		Mean: make([]float64, f+1), MeanCovariance: make([]float64, Triangle(f+1)),
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
	file := bytesOf(t, mustNew(t, p))
	m, err := readBytes(file)
	if err != nil || m.KeepsIntervals() || len(file) > 4<<20 {
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
			if _, err := New(p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	t.Run("covariance", func(t *testing.T) {
		p := full()
		p.Tasks.Covariance = func(int) []float64 { return append(make([]float64, 44), math.NaN()) }
		err := mustNew(t, p).Write(&bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), `task "n" has the entry NaN`) {
			t.Errorf("Write returns %v", err)
		}
	})
}
