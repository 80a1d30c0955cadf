package mixed

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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
	"github.com/difalt/difalt/internal/npz"
	"gonum.org/v1/gonum/floats"
)

// full returns parameters with all optional arrays.
func full() Parameters {
	p := synthetic()
	p.Goodness = Goodness{Evidence: -123.5, R2Marginal: .3, R2Conditional: .6}
	p.Effects = &Estimate{Mean: p.Tasks.Theta[:9], Covariance: p.Tasks.Covariances[0].Packed, Freedom: 7}
	few := reducedTask()
	p.Tasks.Covariances[2], p.Tasks.Strengths = few.Tasks.Covariances[0], few.Tasks.Strengths
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
	bare.Prior.Noise.TaskFreedom = 0
	bare.Tasks.Noise = nil
	bare.Tasks.Freedom = nil
	bare.Tasks.Covariances = nil
	bare.Tasks.Strengths = nil
	bare.Mean = bare.Mean[:7]
	bare.MeanCovariance = packedPositive(rand.New(rand.NewPCG(7, 8)), 7, .1)
	bare.Prior.Deviations = bare.Prior.Deviations[:7]
	bare.Tasks.Theta = bare.Tasks.Theta[:28]
	constant := Parameters{Target: Target{Scale: 1, Log: true}, Mean: []float64{1}, MeanCovariance: []float64{1},
		Prior: Prior{Deviations: []float64{1}, Noise: Noise{Variance: 1}},
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
			if !reflect.DeepEqual(got.Effects(), m.Effects()) || got.p.Goodness != m.p.Goodness ||
				got.p.Estimator != m.p.Estimator {
				t.Error("effects, goodness or estimator have changed")
			}
		})
	}
}

// contents are the arrays of a model file, by name.
type contents struct {
	names   []string
	header  string
	shapes  map[string][]int
	numbers map[string][]float64
}

func contentsOf(t testing.TB, m *Model) *contents {
	t.Helper()
	file := bytesOf(t, m)
	r := check.OK(npz.NewReader(bytes.NewReader(file), int64(len(file))))
	c := &contents{r.Names(), "", map[string][]int{}, map[string][]float64{}}
	for _, name := range c.names {
		a, err := r.Array(name)
		if err == nil && name == "header" {
			c.header = string(check.OK(a.Bytes()))
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
	return readBytes(c.file(t))
}

// file returns a file with the contents.
func (c *contents) file(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := npz.NewWriter(&out)
	for _, name := range c.names {
		switch {
		case name == "header":
			w.Bytes(name, []byte(c.header))
		case (name == "samples" || name == "covariance_rows") && len(c.shapes[name]) == 1 &&
			!slices.ContainsFunc(c.numbers[name], math.IsNaN):
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
	return out.Bytes()
}

// TestFormula computes a prediction as the documentation of Save does, from the arrays of the file.
func TestFormula(t *testing.T) {
	m := check.OK(New(full()))
	c := contentsOf(t, m)
	var h struct {
		Target struct{ Center, Scale float64 }
		Curves []int
	}
	if err := json.Unmarshal([]byte(c.header), &h); err != nil || !slices.Equal(h.Curves, []int{0}) {
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
				if name == "covariance" {
					want = `"covariance`
				}
				check.FailIf(t, err == nil || !regexp.MustCompile(want).MatchString(err.Error()),
					"error %v does not name the array", err)
			})
		}
	}
}

// A changed byte in the name of an array never gives another model, also where the array may be missing.
func TestDamagedNames(t *testing.T) {
	m := check.OK(New(full()))
	for i, name := range contentsOf(t, m).names {
		c := contentsOf(t, m)
		damaged := string(name[0]^1) + name[1:]
		c.names[i] = damaged
		c.numbers[damaged], c.shapes[damaged] = c.numbers[name], c.shapes[name]
		if name == "header" { // as an array of numbers
			c.numbers[damaged], c.shapes[damaged] = []float64{1}, []int{1}
		}
		_, err := c.read(t)
		check.FailIf(t, err == nil, "a model with %q in place of %q was read", damaged, name)
	}
}

func TestHeaders(t *testing.T) {
	m := check.OK(New(full()))
	file := contentsOf(t, m)
	file.names = file.names[1:]
	_, err := file.read(t)
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
		{"columns", `"dose",`, ``, `array "fill" is (6,) float64: expected the shape (5,)`},
		{"tasks", `"names":["n",`, `"names":[`, `array "samples" is (4,) int64: expected the shape (3,)`},
		{"names", `"names":["n",`, `"names":["s",`, `array "task": entry 1 is "s", which is there twice`},
		{"curve", `"curves":[0]`, `"curves":[6]`, "feature 6"},
		{"more curves", `"curves":[0]`, `"curves":[0,1]`, `"knots.1"`},
		{"target", `"scale":3`, `"scale":-3`, "scale of the target is -3"},
		{"freedom", `"effects":{"freedom":7}`, `"effects":{"freedom":-7}`, "freedom of the effects is -7"},
		{"share", `"r2_marginal":0.3`, `"r2_marginal":3`, "marginal R2 is 3: it must be from 0 to 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := contentsOf(t, m)
			if !strings.Contains(file.header, c.old) {
				t.Fatalf("no %s in %s", c.old, file.header)
			}
			file.header = strings.Replace(file.header, c.old, c.new, 1)
			_, err := file.read(t)
			check.Error(t, err, c.want)
		})
	}
}

// A header that unpacks to many times its file is refused before it is read.
func TestLongHeader(t *testing.T) {
	var array, file bytes.Buffer
	w := npz.NewWriter(&array)
	w.Bytes("header", bytes.Repeat([]byte(" "), 2<<20))
	check.Done(w.Close())
	stored := check.OK(zip.NewReader(bytes.NewReader(array.Bytes()), int64(array.Len())))
	z := zip.NewWriter(&file)
	to := check.OK(z.Create("header.npy")) // deflated
	check.OK(io.Copy(to, check.OK(stored.Open("header.npy"))))
	check.Done(z.Close())
	_, err := readBytes(file.Bytes())
	check.Error(t, err, `array "header" has 2097152 bytes: at most 1048576 are read`)
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

// A name costs its own length: one long name among many does not lengthen the others.
func TestLongName(t *testing.T) {
	p := synthetic()
	p.Tasks.Covariances = nil
	const more, long = 5000, 20_000
	for i := range more {
		p.Tasks.Names = append(p.Tasks.Names, fmt.Sprint(i))
		p.Tasks.Samples = append(p.Tasks.Samples, 1)
		p.Tasks.Theta = append(p.Tasks.Theta, p.Mean...)
	}
	short := len(bytesOf(t, check.OK(New(p))))
	name := strings.Repeat("<東", long/4)
	p.Tasks.Names[7] = name
	file := bytesOf(t, check.OK(New(p)))
	check.FailIf(t, len(file) > short+long+100, "the file has %d bytes, with a short name %d", len(file), short)
	m, err := readBytes(file)
	check.FailIf(t, err != nil || !m.Knows(name), "the model does not know the long name: %v", err)
}

// newRefusesCases are the cases of TestNewRefuses.
var newRefusesCases = []struct {
	name, want string
	change     func(p *Parameters)
}{
	{"no tasks", "it needs a task", func(p *Parameters) { p.Tasks = Tasks{} }},
	{"repeated task", `array "task": entry 1 is "n", which is there twice`,
		func(p *Parameters) { p.Tasks.Names = []string{"n", "n", "e", "w"} }},
	{"repeated feature", `array "feature": entry 1 is "age", which is there twice`,
		func(p *Parameters) { p.Schema.Columns[1] = "age" }},
	{"no noise", "variance of the noise is 0", func(p *Parameters) { p.Prior.Noise.Variance = 0 }},
	{"noise without freedom", `array "noise_freedom" has 0 entries`, func(p *Parameters) {
		p.Prior.Noise.TaskFreedom = 0
		p.Tasks.Freedom = nil
	}},
	{"noise of a task", `array "noise": entry 1 is 0: it must be finite and positive`,
		func(p *Parameters) { p.Tasks.Noise[1] = 0 }},
	{"samples", "number of samples", func(p *Parameters) { p.Tasks.Samples[0] = -1 }},
	{"deviations", `array "deviations": entry 0 is -1: it must be finite and not negative`,
		func(p *Parameters) { p.Prior.Deviations[0] = -1 }},
	{"rank", "the rank is 10: it must be from 0 to 9", func(p *Parameters) { p.Prior.Rank = 10 }},
	{"mean", `array "mean" has 8 entries: 9 are required`, func(p *Parameters) { p.Mean = p.Mean[1:] }},
	{"knots", "curve 0: knot 1 is 50, and the next 50", func(p *Parameters) { p.Design.Curves[0].Knots[1] = 50 }},
	{"values", "curve 0: it has 4 knots and 7 values",
		func(p *Parameters) { c := &p.Design.Curves[0]; c.Values = c.Values[1:] }},
	{"covariances", "4 tasks and 3 covariances",
		func(p *Parameters) { p.Tasks.Covariances = p.Tasks.Covariances[1:] }},
	{"covariance", `"covariance of task \"s\"": entry 1 is NaN`, func(p *Parameters) {
		p.Tasks.Covariances[1].Packed = append([]float64{1, math.NaN()}, make([]float64, 43)...)
	}},
	{"short covariance", `"covariance of task \"s\"" has 44 entries: 45 are required`,
		func(p *Parameters) { p.Tasks.Covariances[1].Packed = make([]float64, 44) }},
	{"variance", `array "mean_covariance": the variance -1 is negative`, func(p *Parameters) {
		p.MeanCovariance = append([]float64{-1}, p.MeanCovariance[1:]...)
	}},
	{"name", `entry 2 is "\xff", which is not UTF-8`, func(p *Parameters) { p.Tasks.Names[2] = "\xff" }},
	{"scale", "scale of the target is 0", func(p *Parameters) { p.Target.Scale = 0 }},
	{"tiny feature", `the scale of feature "dose" is 1e-301: it is too small for a target of scale 3`,
		func(p *Parameters) { p.Design.Scale[1] = 1e-301 }},
	{"huge feature", `array "scale": entry 1 is 1e+301`, func(p *Parameters) { p.Design.Scale[1] = 1e301 }},
	{"steep", `the scale of feature "age" is 1e-200`, func(p *Parameters) {
		p.Design.Scale[0] = 1e-200
		p.Target.Scale = 1e60
	}},
	{"loading", `array "loadings": entry 0 is 1e+31: it must be finite, at most 1e+30 in size`,
		func(p *Parameters) { p.Prior.Loadings[0] = 1e31 }},
	{"strange date", `dates in "place", which is not one of its columns of numbers`, func(p *Parameters) {
		p.Schema.Dates = []string{"place"}
	}},
	{"strange category", `category for "place", which is not one of its columns`, func(p *Parameters) {
		p.Schema.Categories = append(p.Schema.Categories, Category{"place", []string{"a"}})
	}},
	{"target", "center of the target is NaN", func(p *Parameters) { p.Target.Center = math.NaN() }},
}

func TestNewRefuses(t *testing.T) {
	for _, c := range newRefusesCases {
		t.Run(c.name, func(t *testing.T) {
			p := full()
			c.change(&p)
			_, err := New(p)
			check.Error(t, err, c.want)
		})
	}
}
