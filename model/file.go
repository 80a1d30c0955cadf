package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/difalt/difalt/internal/npz"
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
// feature of Scaling, it holds
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
	p := &m.p
	text, err := json.Marshal(header{
		Format: format, Version: Version, Rank: m.rank, Method: p.Method, Ridge: p.Ridge, Noise: p.NoiseVariance,
		Target: p.Scaling.Target, Constant: p.Scaling.Constant, TaskColumn: p.TaskColumn, TargetColumn: p.TargetColumn,
		Categorical: categoricals(&p.Schema),
	})
	if err != nil {
		return err
	}
	l, t, k, d := len(p.Nodes), len(p.Tasks), len(m.features), p.Scaling.Width()
	w := npz.NewWriter(out)
	w.Strings("header", []int{1}, []string{string(text)})
	w.Floats("U", []int{l, d, m.rank}, false, func(put func(float64)) {
		for _, u := range p.U {
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
	transposed("B", m.rank, p.B)
	w.Float64s("precision", []int{t, m.rank, m.rank}, p.Precision)
	w.Float64s("mean", []int{d}, p.Mean)
	w.Float64s("fill", []int{k}, p.Scaling.Fill)
	w.Float64s("center", []int{k}, p.Scaling.Center)
	w.Float64s("scale", []int{k}, p.Scaling.Scale)
	transposed("Theta", k, m.theta)
	w.Float64s("constant", []int{t}, m.bias)
	w.Strings("task", []int{t}, p.Tasks)
	w.Ints("node", p.NodeOf)
	w.Strings("node_name", []int{l}, p.Nodes)
	w.Strings("feature", []int{k}, m.features)
	w.Ints("samples", p.Samples)
	return w.Close()
}

// MarshalBinary returns the file that Save writes. It implements
// encoding.BinaryMarshaler.
func (m *Model) MarshalBinary() ([]byte, error) {
	var buf bytes.Buffer
	if err := m.Write(&buf); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// UnmarshalBinary sets m to the model of a file that Save or MarshalBinary wrote,
// and leaves m as it is on an error. A file of another version is an error that says
// so. m must not be in use, and must be the zero Model: models are immutable. It
// implements encoding.BinaryUnmarshaler and does not keep data.
func (m *Model) UnmarshalBinary(data []byte) error {
	if m.rank != 0 {
		return errors.New("models are immutable: UnmarshalBinary needs a new one")
	}
	r, err := npz.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	read, err := read(r)
	if err != nil {
		return err
	}
	*m = *read
	return nil
}

// Load reads a file that Save wrote. Errors name the file and the array that is wrong.
func Load(path string) (m *Model, err error) {
	r, err := npz.Open(path)
	if err == nil {
		defer r.Close()
		m, err = read(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
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
	if h.Rank < 1 {
		return nil, fmt.Errorf("the model's header has rank %d", h.Rank)
	}
	p := Parameters{Method: h.Method, Ridge: h.Ridge, NoiseVariance: h.Noise, TaskColumn: h.TaskColumn, TargetColumn: h.TargetColumn}
	s := &p.Scaling
	s.Target, s.Constant = h.Target, h.Constant
	in := &loader{r: r}
	features := in.names("feature")
	p.Tasks, p.Nodes = in.names("task"), in.names("node_name")
	k, t, l := len(features), len(p.Tasks), len(p.Nodes)
	s.Fill, s.Center, s.Scale = in.floats("fill", k), in.floats("center", k), in.floats("scale", k)
	d := s.Width()
	p.Mean = in.floats("mean", d)
	p.NodeOf, p.Samples = in.ints("node", t), in.ints("samples", t)
	p.Precision = in.floats("precision", t, h.Rank, h.Rank)
	u, b := in.floats("U", l, d, h.Rank), in.floats("B", h.Rank, t)
	if in.err != nil {
		return nil, in.err
	}
	if p.Schema, err = schemaOf(features, h.Categorical); err != nil {
		return nil, err
	}
	for g := range l {
		p.U = append(p.U, kernel.BasisOf(mat.NewDense(d, h.Rank, u[g*d*h.Rank:][:d*h.Rank])))
	}
	p.B = make([]float64, len(b))
	for i, v := range b {
		p.B[i%t*h.Rank+i/t] = v
	}
	return New(p)
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
