package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"gonum.org/v1/gonum/mat"
)

// An array is one of a model file, and where its entries are in memory.
type array struct {
	name  string
	shape []int
	at    any  // *[]float64, *byColumns, **mat.SymDense, *[]int, *[]string, or what sets a row
	none  bool // the model has none
}

// byColumns is a matrix that is by columns in memory, and in the file by rows.
type byColumns []float64

// arrays lists those of a file from which a model is made, in their order: they are written, read
// and checked by this list. Where shapes depend on others, those must be there.
func (p *Parameters) arrays(features []string) []array {
	k, t, d, w := p.Scaling.Inputs(len(features)), len(p.Tasks), p.Scaling.Width(), p.Width()
	s, covariance := &p.Scaling, any(&p.Covariance)
	if p.CovarianceOf != nil {
		covariance = p.CovarianceOf
	}
	var list []array
	p.priors(func(suffix string, _ float64, mean *[]float64, prior *Prior) {
		r := prior.Rank
		list = append(list, []array{
			{"mean" + suffix, []int{d}, mean, false},
			{"loadings" + suffix, []int{w, r}, (*byColumns)(&prior.Loadings), r == 0},
			{"slopes" + suffix, []int{w - 1}, &prior.Slopes, prior.Slopes == nil},
			{"slopes_freedom" + suffix, []int{w - 1}, &prior.SlopesFreedom, prior.SlopesFreedom == nil},
			{"mean_covariance" + suffix, []int{w, w}, &prior.MeanCovariance, false},
			{"doubt" + suffix, []int{w*r + 2, w*r + 2}, &prior.Uncertainty, prior.Uncertainty == nil},
		}...)
	})
	return append(list, []array{
		{"directions", []int{w - 1, k}, &p.Directions, p.Directions == nil},
		{"theta", []int{t, d}, &p.Theta, false},
		{"covariance", []int{t, w * (w + 1) / 2}, covariance, p.Covariance == nil && p.CovarianceOf == nil},
		{"noise", []int{t}, &p.Noise, p.Noise == nil},
		{"noise_freedom", []int{t}, &p.Freedom, p.Noise == nil},
		{"fill", []int{len(features)}, &s.Fill, false},
		{"least", []int{len(features)}, &s.Least, s.Least == nil},
		{"most", []int{len(features)}, &s.Most, s.Least == nil},
		{"center", []int{k}, &s.Center, false},
		{"scale", []int{k}, &s.Scale, false},
		{"task", []int{t}, &p.Tasks, false},
		{"node", []int{t}, &p.NodeOf, false},
		{"node_name", []int{len(p.Nodes)}, &p.Nodes, false},
		{"feature", []int{len(features)}, &features, false},
		{"samples", []int{t}, &p.Samples, false},
	}...)
}

func (a *array) write(out *npz.Writer) {
	if a.none {
		return
	}
	switch at := a.at.(type) {
	case *[]float64:
		out.Float64s(a.name, a.shape, *at)
	case *[]int:
		out.Ints(a.name, *at)
	case *[]string:
		out.Strings(a.name, a.shape, *at)
	default:
		out.Rows(a.name, a.shape, false, a.row)
	}
}

// row sets dst to a row of a matrix that is not in memory as it is in the file.
func (a *array) row(dst []float64, i int) {
	switch at := a.at.(type) {
	case *byColumns:
		mat.Col(dst, i, mat.NewDense(a.shape[1], a.shape[0], *at))
	case **mat.SymDense:
		mat.Row(dst, i, *at)
	case func(t int, packed []float64):
		at(i, dst)
	}
}

// read reads the arrays of a file, and returns the names of the features. The method and the
// numbers of the header are there.
func (p *Parameters) read(r *npz.Reader) (features []string, err error) {
	for _, a := range []array{{name: "feature", at: &features}, {name: "task", at: &p.Tasks}, {name: "node_name", at: &p.Nodes}} {
		a.shape = []int{-1}
		if err := a.read(r); err != nil {
			return nil, err
		}
	}
	if err := p.Scaling.checkTransforms(len(features)); err != nil {
		return nil, err
	}
	p.Scaling.Center = make([]float64, p.Scaling.Inputs(len(features))) // for the shapes of the others
	if r.Has("directions") {
		a, err := r.Shaped("directions", -1, len(p.Scaling.Center))
		if err != nil {
			return nil, err
		}
		p.Directions = make([]float64, a.Len())
	}
	for _, a := range p.arrays(features) {
		a.none = a.none && !r.Has(a.name)
		if err := a.read(r); err != nil {
			return nil, err
		}
	}
	return features, nil
}

func (a *array) read(r *npz.Reader) error {
	if a.none {
		return nil
	}
	in, err := r.Shaped(a.name, a.shape...)
	if err != nil {
		return err
	}
	switch at := a.at.(type) {
	case *[]int:
		*at, err = in.Ints()
		return err
	case *[]string:
		*at, err = in.Strings()
		return err
	}
	v, err := in.Float64s()
	if err != nil {
		return err
	}
	switch at := a.at.(type) {
	case *[]float64:
		*at = v
	case *byColumns:
		if len(v) > 0 {
			*at = mat.DenseCopyOf(mat.NewDense(a.shape[0], a.shape[1], v).T()).RawMatrix().Data
		}
	case **mat.SymDense:
		*at = mat.NewSymDense(a.shape[0], nil)
		(*at).CopySym(mat.NewSymDense(a.shape[0], v))
	}
	return nil
}

// check returns an error if the number of entries does not fit the shape, or a number is not finite.
func (a *array) check() error {
	want := 1
	for _, n := range a.shape {
		want *= n
	}
	if a.none {
		want = 0
	}
	var numbers []float64
	got := want
	switch at := a.at.(type) {
	case *[]float64:
		numbers, got = *at, len(*at)
	case *byColumns:
		numbers, got = *at, len(*at)
	case **mat.SymDense:
		if a.none {
			return nil
		}
		if n := (*at).SymmetricDim(); n != a.shape[0] {
			return fmt.Errorf("array %q is of order %d: want %d", a.name, n, a.shape[0])
		}
		for i, raw := 0, (*at).RawSymmetric(); i < raw.N; i++ {
			if j := notFinite(raw.Data[i*raw.Stride+i:][:raw.N-i]); j >= 0 {
				return fmt.Errorf("array %q: entry (%d, %d) is not finite", a.name, i, i+j)
			}
		}
	case *[]int:
		got = len(*at)
	}
	if got != want {
		return fmt.Errorf("array %q has %d entries: want %d", a.name, got, want)
	}
	if i := notFinite(numbers); i >= 0 {
		return fmt.Errorf("array %q: entry %d is %v", a.name, i, numbers[i])
	}
	return nil
}

// notFinite returns the place of the first that is not; -1 if all are.
func notFinite(v []float64) int {
	return slices.IndexFunc(v, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}
