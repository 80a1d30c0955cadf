package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/npz"
)

// Version is the newest version of model files, which Save writes with Scaling.LogTarget: 7 where there are Alternatives, else 6. Load reads all from 5 on.
const Version = 8

// averaging is the version from which on models have Alternatives.
const averaging = 7

// oldest is the oldest version that Load reads: it has neither transforms nor slopes.
const oldest = 5

// Version is that of the file of a model.
func (p *Parameters) Version() int {
	switch {
	case p.Scaling.LogTarget:
		return Version
	case len(p.Alternatives) > 0:
		return averaging
	}
	return averaging - 1
}

const format = "difalt model"

// header is the JSON text in the array "header".
type header struct {
	Format       string `json:"format"`
	Version      int    `json:"version"`
	Method       string `json:"method"`
	TaskColumn   string `json:"task_column"`
	TargetColumn string `json:"target_column"`
	*Prior
	*Scaling
	*Goodness
	Categorical  []categorical `json:"categorical,omitempty"`
	Alternatives []Alternative `json:"alternatives,omitempty"`
}

// Save writes the model as an .npz file that NumPy reads without pickle. With L
// nodes, T tasks, f features of the table, k of them when they are transformed, d = k, or k + 1 with the constant
// feature of Scaling, rank r, and w = d, or p + 1 with Parameters.Directions, it holds
//
//	mean        d          coefficients that all tasks share, for standardised features
//	loadings    w x r      what tasks differ by, in units of the noise
//	slopes      w - 1      variances of slopes over spread_variance; may be missing, and are 1
//	slopes_freedom  w - 1   degrees of freedom to which they are known; may be missing
//	mean_covariance  w x w of the mean, over the variance of the noise
//	doubt       n x n      covariance of loadings, by columns, and of the logarithms of the
//	                       variances of intercept and spread, n = w r + 2; may be missing
//	directions  p x k      may be missing
//	theta       T x d      coefficients of every task, for standardised features
//	covariance  T x w(w+1)/2   of theta, upper triangles by rows; may be missing
//	noise       T          variance of the noise of every task, as noise_variance; may be missing, and then
//	noise_freedom  T       degrees of freedom to which it is known, is too
//	fill        f          mean over the training rows, in place of missing values
//	least       f          what features count as at least, and
//	most        f          at most; both may be missing
//	center      k          subtracted from the features
//	scale       k          then divided by
//	Theta       k x T      coefficients in the units of the table, and
//	constant    T          what is added: prediction = x' Theta[:, t] + constant[t], its logarithm with log_target
//	task        T          names of the tasks, and
//	node        T          where they live, -1 if nowhere
//	node_name   L          names of the nodes
//	feature     f          names of the features
//	samples     T          training rows of every task
//	header      1          JSON: format, version, rank, method, noise_variance (of scaled targets),
//	                       noise_known (degrees of freedom to which it is), noise_scale and
//	                       noise_freedom (where tasks differ: noise_scale / variance has a
//	                       chi^2 distribution over its freedom), sample_noise (variance of single
//	                       targets, if it is more than noise_variance; older files have it in
//	                       noise_scale, without noise_freedom), target_mean, target_scale,
//	                       constant_feature, log_target (the target is taken by its logarithm, in version 8), intercept_variance, spread_variance,
//	                       mean_variance (over that of the noise), log_likelihood, r2_marginal and
//	                       r2_conditional (missing if not known), task_column, target_column,
//	                       transforms (feature, kind, knots, values: see Transform), alternatives
//	                       (from version 7 on: weight, rank, noise_variance to sample_noise, and
//	                       intercept_variance to mean_variance, of each; and its arrays mean.k,
//	                       loadings.k, slopes.k, slopes_freedom.k, mean_covariance.k, doubt.k, k from 1)
//
// The file takes its name when it is complete.
func (m *Model) Save(path string) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := m.Write(f); err != nil {
		return err
	}
	return f.Commit()
}

// Write writes the file that Save describes. The zero Model is an error.
func (m *Model) Write(to io.Writer) error {
	if m.index == nil {
		return errors.New("an empty model cannot be written")
	}
	p := &m.p
	text, err := json.Marshal(header{
		format, p.Version(), p.Method, p.TaskColumn, p.TargetColumn, &p.Prior, &p.Scaling, &p.Goodness, m.levels, p.Alternatives,
	})
	if err != nil {
		return err
	}
	out := npz.NewWriter(to)
	out.Strings("header", []int{1}, []string{string(text)})
	for _, a := range p.arrays(m.features) {
		a.write(out)
		if a.name == "scale" {
			m.writeUnscaled(out)
		}
	}
	return out.Close()
}

// writeUnscaled writes Theta and constant, which nobody reads back: they follow from the others.
func (m *Model) writeUnscaled(out *npz.Writer) {
	k, t := len(m.p.Scaling.Center), len(m.p.Tasks)
	constant := make([]float64, t)
	out.Rows("Theta", []int{k, t}, false, func(dst []float64, i int) {
		for j := range dst {
			dst[j] = m.p.Scaling.inTable(m.scaled(j), i)
			constant[j] -= dst[j] * m.p.Scaling.Center[i]
		}
	})
	for j := range constant {
		constant[j] += m.bias[j]
	}
	out.Float64s("constant", []int{t}, constant)
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
	if m.index != nil {
		return errors.New("models are immutable: UnmarshalBinary needs a new one")
	}
	r, err := npz.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	whole, err := read(r)
	if err == nil {
		*m = *whole
	}
	return err
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

func read(r *npz.Reader) (*Model, error) {
	var p Parameters
	h := header{Prior: &p.Prior, Scaling: &p.Scaling, Goodness: &p.Goodness}
	if err := h.read(r); err != nil {
		return nil, err
	}
	p.Method, p.TaskColumn, p.TargetColumn, p.Alternatives = h.Method, h.TaskColumn, h.TargetColumn, h.Alternatives
	if n := &p.Prior.NoisePrior; n.Freedom == 0 && p.Prior.SampleNoise == 0 { // an older file
		p.Prior.SampleNoise, n.Scale = n.Scale, 0
	}
	features, err := p.read(r)
	if err != nil {
		return nil, err
	}
	if p.Schema, err = schemaOf(features, h.Categorical); err != nil {
		return nil, err
	}
	return New(p)
}

// read reads the header of a file, and checks that it is that of a model of a version that is understood.
func (h *header) read(r *npz.Reader) error {
	if !r.Has("header") {
		return fmt.Errorf("not a model file: it has no array %q, but %q", "header", r.Names())
	}
	a, err := r.Array("header")
	if err != nil {
		return err
	}
	text, err := a.Strings()
	if err != nil {
		return err
	}
	if len(text) != 1 || json.Unmarshal([]byte(text[0]), h) != nil || h.Format != format {
		return fmt.Errorf("not a model file: its header is %.100q", text)
	}
	switch {
	case h.Version > Version:
		return fmt.Errorf("the model file has version %d: this program reads version %d; a newer difalt wrote it, and reads it", h.Version, Version)
	case h.Version < oldest:
		return fmt.Errorf("the model file has version %d: this program reads version %d; train the model again, or use the older difalt that wrote it", h.Version, Version)
	case h.Version < averaging && len(h.Alternatives) > 0:
		return fmt.Errorf("the model file has version %d and alternatives, which version %d has", h.Version, averaging)
	case h.Version < Version && h.LogTarget:
		return fmt.Errorf("the model file has version %d and the logarithm of the target, which version %d has", h.Version, Version)
	}
	for _, a := range append(h.Alternatives, Alternative{Prior: *h.Prior}) {
		if a.Rank < 0 {
			return fmt.Errorf("the model's header has rank %d", a.Rank)
		}
	}
	return nil
}

// A categorical says, in the header of a model file, which features are the levels
// of a column.
type categorical struct {
	Column string `json:"column"`
	First  int    `json:"first"` // feature
	Levels int    `json:"levels"`
}

// categoricals returns the categorical columns of a schema.
func categoricals(s *schema.Schema) (out []categorical) {
	first := 0
	for _, column := range s.Columns {
		n := 1
		if levels, ok := s.Levels(column); ok {
			n = len(levels)
			out = append(out, categorical{column, first, n})
		}
		first += n
	}
	return out
}

// schemaOf is the inverse of categoricals: it finds the levels in the names of the
// features.
func schemaOf(features []string, list []categorical) (s schema.Schema, err error) {
	at := 0
	for _, c := range list {
		if c.First < at || c.Levels < 1 || c.Levels > len(features)-c.First {
			return s, fmt.Errorf("the model's header says that features %d to %d of %d are levels of column %q", c.First, c.First+c.Levels-1, len(features), c.Column)
		}
		s.Columns = append(s.Columns, features[at:c.First]...)
		levels := make([]string, c.Levels)
		for i := range levels {
			name := features[c.First+i]
			level, ok := strings.CutPrefix(name, c.Column+"=")
			if !ok {
				return s, fmt.Errorf("array %q: entry %d is %q: want a level of column %q", "feature", c.First+i, name, c.Column)
			}
			levels[i] = level
		}
		s.Columns = append(s.Columns, c.Column)
		s.Categories = append(s.Categories, schema.Category{Column: c.Column, Levels: levels})
		at = c.First + c.Levels
	}
	s.Columns = append(s.Columns, features[at:]...)
	return s, nil
}
