package model

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/difalt/difalt/dataset/internal/npz"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// Version is the version of the model files that Save writes. Load refuses others.
const Version = 3

const format = "difalt model"

// header is the JSON text in the array "header".
type header struct {
	Format   string  `json:"format"`
	Version  int     `json:"version"`
	Rank     int     `json:"rank"`
	Method   string  `json:"method"`
	Ridge    float64 `json:"ridge"`
	Noise    float64 `json:"noise_variance"`
	Target   float64 `json:"target_mean"`
	Constant bool    `json:"constant_feature"`

	TaskColumn   string `json:"task_column"`
	TargetColumn string `json:"target_column"`

	Categorical []categorical `json:"categorical,omitempty"`
}

// Save writes the model as an .npz file that NumPy reads without pickle. With L
// nodes, T tasks, k features of the table, and d = k, or k + 1 with the constant
// feature that Config.Intercept adds, it holds
//
//	U          L x d x r  basis of every node, for standardised features
//	B          r x T      coefficients
//	precision  T x r x r  of b_t: A_t'A_t + ridge I, A_t = X_t U
//	mean       d          coefficients that all tasks share
//	fill       k          mean over the training rows, in place of missing values
//	center     k          subtracted from the features
//	scale      k          then divided by
//	Theta      k x T      coefficients in the units of the table, and
//	constant   T          what is added: prediction = x' Theta[:, t] + constant[t]
//	task       T          names of the tasks, and
//	node       T          where they live
//	node_name  L          names of the nodes
//	feature    k          names of the features
//	samples    T          training rows of every task
//	header     1          JSON: format, version, rank, method, ridge, noise_variance,
//	                      target_mean, constant_feature, task_column, target_column
//
// The file takes its name when it is complete.
func (m *Model) Save(path string) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := m.Write(f); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return f.Commit()
}

// Write writes the file that Save describes.
func (m *Model) Write(out io.Writer) error {
	text, err := json.Marshal(header{
		Format: format, Version: Version, Rank: m.rank, Method: m.method.String(), Ridge: m.ridge, Noise: m.noise,
		Target: m.target, Constant: m.constant, TaskColumn: m.taskColumn, TargetColumn: m.targetColumn,
		Categorical: categoricals(&m.schema),
	})
	if err != nil {
		return err
	}
	l, t, k, d := len(m.nodes), len(m.tasks), len(m.features), m.width()
	w := npz.NewWriter(out)
	w.Strings("header", []int{1}, []string{string(text)})
	w.Floats("U", []int{l, d, m.rank}, false, func(put func(float64)) {
		for _, u := range m.u {
			for i := range d {
				for j := range m.rank {
					put(u.At(i, j))
				}
			}
		}
	})
	transposed := func(name string, rows int, data []float64) {
		w.Floats(name, []int{rows, t}, false, func(put func(float64)) {
			for i := range rows {
				for j := range t {
					put(data[j*rows+i])
				}
			}
		})
	}
	transposed("B", m.rank, m.b)
	w.Float64s("precision", []int{t, m.rank, m.rank}, m.precision)
	w.Float64s("mean", []int{d}, m.mean)
	w.Float64s("fill", []int{k}, m.fill)
	w.Float64s("center", []int{k}, m.center)
	w.Float64s("scale", []int{k}, m.scale)
	transposed("Theta", k, m.theta)
	w.Float64s("constant", []int{t}, m.bias)
	w.Strings("task", []int{t}, m.tasks)
	w.Ints("node", m.nodeOf)
	w.Strings("node_name", []int{l}, m.nodes)
	w.Strings("feature", []int{k}, m.features)
	w.Ints("samples", m.samples)
	return w.Close()
}

// Load reads a file that Save wrote. Errors name the array that is wrong.
func Load(path string) (*Model, error) {
	r, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return read(r)
}

// A loader reads arrays until the first error.
type loader struct {
	r   *npz.Reader
	err error
}

func read(r *npz.Reader) (*Model, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	m := &Model{rank: h.Rank, ridge: h.Ridge, noise: h.Noise, taskColumn: h.TaskColumn, targetColumn: h.TargetColumn}
	m.target, m.constant = h.Target, h.Constant
	if m.method, err = difalt.ParseMethod(h.Method); err != nil {
		return nil, err
	}
	if m.rank < 1 || !(m.ridge >= 0) || !(m.noise >= 0) {
		return nil, fmt.Errorf("the model's header has rank %d, ridge %v and noise variance %v", m.rank, m.ridge, m.noise)
	}
	in := &loader{r: r}
	m.features = in.names("feature")
	m.tasks = in.names("task")
	m.nodes = in.names("node_name")
	k, t, l := len(m.features), len(m.tasks), len(m.nodes)
	m.fill, m.center, m.scale = in.floats("fill", k), in.floats("center", k), in.floats("scale", k)
	m.mean = in.floats("mean", m.width())
	m.nodeOf, m.samples = in.ints("node", t), in.ints("samples", t)
	m.precision = in.floats("precision", t, m.rank, m.rank)
	u, b := in.floats("U", l, m.width(), m.rank), in.floats("B", m.rank, t)
	if in.err != nil {
		return nil, in.err
	}
	if m.schema, err = schemaOf(m.features, h.Categorical); err != nil {
		return nil, err
	}
	for i, g := range m.nodeOf {
		if g < 0 || g >= l {
			return nil, fmt.Errorf("array %q: entry %d is %d: want 0 to %d", "node", i, g, l-1)
		}
	}
	for i, s := range m.scale {
		if !(s > 0) {
			return nil, fmt.Errorf("array %q: entry %d is %v: want more than 0", "scale", i, s)
		}
	}
	n := m.width() * m.rank
	for g := range l {
		m.u = append(m.u, kernel.BasisOf(mat.NewDense(m.width(), m.rank, u[g*n:][:n])))
	}
	m.b = make([]float64, len(b))
	for i, v := range b {
		m.b[i%t*m.rank+i/t] = v
	}
	m.finish()
	m.factor()
	if len(m.index) != t {
		return nil, fmt.Errorf("array %q names a task twice", "task")
	}
	return m, nil
}

// readHeader checks that the file is a model of the version that is understood.
func readHeader(r *npz.Reader) (*header, error) {
	if !r.Has("header") {
		return nil, fmt.Errorf("not a model file: it has no array %q, but %q", "header", r.Names())
	}
	a, err := r.Array("header")
	if err != nil {
		return nil, err
	}
	text, err := a.Strings()
	if err != nil {
		return nil, err
	}
	var h header
	if len(text) != 1 || json.Unmarshal([]byte(text[0]), &h) != nil || h.Format != format {
		return nil, fmt.Errorf("not a model file: its header is %.100q", text)
	}
	switch {
	case h.Version > Version:
		return nil, fmt.Errorf("the model file has version %d: this program reads version %d; a newer difalt wrote it, and reads it", h.Version, Version)
	case h.Version < Version:
		return nil, fmt.Errorf("the model file has version %d: this program reads version %d; train the model again, or use the older difalt that wrote it", h.Version, Version)
	}
	return &h, nil
}

// array returns an array of the given shape, or nil after an error.
func (in *loader) array(name string, shape ...int) *npz.Array {
	if in.err != nil {
		return nil
	}
	var a *npz.Array
	if a, in.err = in.r.Array(name); in.err != nil {
		return nil
	}
	same := len(a.Shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		// -1 stands for any length but 0.
		same = a.Shape[i] == shape[i] || shape[i] < 0 && a.Shape[i] > 0
	}
	if !same {
		in.err = fmt.Errorf("array %q is %s: want the shape %v", name, a, shape)
		return nil
	}
	return a
}

func (in *loader) floats(name string, shape ...int) (out []float64) {
	if a := in.array(name, shape...); a != nil {
		out, in.err = a.Float64s()
	}
	for i, v := range out {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			in.err = fmt.Errorf("array %q: entry %d is %v", name, i, v)
			break
		}
	}
	return out
}

func (in *loader) ints(name string, n int) (out []int) {
	if a := in.array(name, n); a != nil {
		out, in.err = a.Ints()
	}
	return out
}

func (in *loader) names(name string) (out []string) {
	if a := in.array(name, -1); a != nil {
		out, in.err = a.Strings()
	}
	return out
}
