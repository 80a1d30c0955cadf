package mixed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/npz"
)

// Version is the version of model files. Load reads this one only.
const Version = 1

const format = "difalt model"

// maxCovariance is the largest number of entries of the array "covariance" (256 MiB).
const maxCovariance = 1 << 25

// header is the JSON text in the array "header".
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Curves  []int  `json:"curves"`
	Parameters
}

// Save writes the model as a file in NumPy's .npz format.
// With f table features, T tasks, rank r, C curves, and P columns, the file holds
//
//	header       1      JSON text: format, version, curves (the feature of each), and the fields of
//	                    Parameters that are not arrays
//	feature      f      names of the table features
//	task         T      names of the tasks
//	samples      T      training rows of every task
//	fill         f      replaces missing features
//	center       f      is subtracted from the features, which are
//	scale        f      then divided by it; columns of scale 0 are 0
//	knots.i      k      knots of curve i, from 0 on
//	values.i     m x k  its m columns at the knots
//	mean         P      mean of the coefficients over tasks
//	mean_covariance      P(P+1)/2  its covariance, upper triangle by rows
//	effects, effects_covariance  as mean, for the table of effects; may be missing
//	deviations   P      standard deviations of coefficients over tasks
//	loadings     r x P  further deviations, each times a standard normal number
//	theta        T x P  coefficients of every task
//	covariance   T x P(P+1)/2  their covariances. The array is missing if it would have more than
//	                    2^25 entries; standard errors of known tasks are then those of unseen ones
//	noise        T      variances of the noise of tasks, and
//	noise_freedom T     their degrees of freedom; missing unless tasks differ by them
//
// With m = numpy.load(path), features x (n x f), the number t of a task, and h the parsed header,
// NumPy and SciPy compute the predictions y of Model.Predict by (levels that are unseen are missing in x)
//
//	x = np.where(np.isnan(x), m["fill"], x)
//	s = m["scale"]
//	z = [np.ones((len(x), 1)), np.where(s > 0, (x - m["center"]) / np.where(s > 0, s, 1), 0)]
//	for i, j in enumerate(h["curves"]):
//	    k = m[f"knots.{i}"]
//	    spline = scipy.interpolate.CubicSpline(k, m[f"values.{i}"].T, bc_type="natural")
//	    z.append(spline(np.clip(x[:, j], k[0], k[-1])))
//	y = np.hstack(z) @ m["theta"][t]           # m["mean"] for an unseen task
//	if h["target"]["log"]: y = np.clip(y, -8, 8)
//	y = h["target"]["center"] + h["target"]["scale"] * y
//	if h["target"]["log"]: y = np.exp(y)
//
// and the coefficients in the unit of the table by
//
//	b = h["target"]["scale"] * m["theta"][t]
//	slopes = np.where(s > 0, b[1:1+len(s)] / np.where(s > 0, s, 1), 0)
//	constant = h["target"]["center"] + b[0] - slopes @ m["center"]
func (m *Model) Save(to io.Writer) error {
	p := &m.p
	h := header{Format: format, Version: Version, Parameters: *p}
	for i := range p.Design.Curves {
		h.Curves = append(h.Curves, p.Design.Curves[i].Feature)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	out := npz.NewWriter(to)
	out.Strings("header", []int{1}, []string{string(text)})
	out.Strings("feature", []int{len(m.features)}, m.features)
	out.Strings("task", []int{len(p.Tasks.Names)}, p.Tasks.Names)
	out.Ints("samples", p.Tasks.Samples)
	for i := range p.Design.Curves {
		c := &p.Design.Curves[i]
		out.Float64s(fmt.Sprint("knots.", i), []int{len(c.Knots)}, c.Knots)
		out.Float64s(fmt.Sprint("values.", i), []int{c.Width(), len(c.Knots)}, c.Values)
	}
	for _, a := range p.arrays() {
		out.Float64s(a.name, a.shape, *a.data)
	}
	if shape := []int{len(p.Tasks.Names), len(m.unseen)}; p.Tasks.Covariance != nil && shape[0] <= maxCovariance/shape[1] {
		out.Rows("covariance", shape, false, func(dst []float64, t int) {
			copy(dst, m.covariance(t))
			if i := notFinite(dst); i >= 0 && err == nil {
				err = fmt.Errorf("the covariance of the coefficients of task %q has the entry %v", p.Tasks.Names[t], dst[i])
			}
		})
	}
	return cmp.Or(err, out.Close())
}

// LoadFile reads a file that Save wrote. Errors name the file, and the array that is damaged.
func LoadFile(path string) (m *Model, err error) {
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

// Load reads a model of the given size in bytes that Save wrote. Errors name the array that is damaged.
func Load(from io.ReaderAt, size int64) (*Model, error) {
	r, err := npz.NewReader(from, size)
	if err != nil {
		return nil, err
	}
	return read(r)
}

func read(r *npz.Reader) (*Model, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	p := h.Parameters
	features, err := readStrings(r, "feature")
	if err != nil {
		return nil, err
	}
	if !slices.Equal(features, h.Schema.Features()) {
		return nil, fmt.Errorf("array %q is not that of the columns in the header", "feature")
	}
	if p.Tasks.Names, err = readStrings(r, "task"); err != nil {
		return nil, err
	}
	if err := p.readNumbers(r, h.Curves); err != nil {
		return nil, err
	}
	return New(p)
}

// readNumbers reads the arrays of numbers; the names of features and tasks are there.
func (p *Parameters) readNumbers(r *npz.Reader, curves []int) error {
	for i, feature := range curves {
		knots, err := readFloats(r, fmt.Sprint("knots.", i), -1)
		if err != nil {
			return err
		}
		values, err := readFloats(r, fmt.Sprint("values.", i), -1, len(knots))
		if err != nil {
			return err
		}
		p.Design.Curves = append(p.Design.Curves, NewCurve(feature, knots, values))
	}
	a, err := r.Array("samples", len(p.Tasks.Names))
	if err != nil {
		return err
	}
	if p.Tasks.Samples, err = a.Ints(); err != nil {
		return err
	}
	for _, a := range p.arrays() {
		if *a.data, err = readFloats(r, a.name, a.shape...); err != nil {
			return err
		}
	}
	if !r.Has("covariance") {
		return nil
	}
	var all []float64
	n := len(p.MeanCovariance)
	if all, err = readFloats(r, "covariance", len(p.Tasks.Names), n); err != nil {
		return err
	}
	p.Tasks.Covariance = func(t int) []float64 { return all[t*n:][:n] }
	return (&array{"covariance", &all, []int{len(all)}, -math.MaxFloat64}).check()
}

func readFloats(r *npz.Reader, name string, shape ...int) ([]float64, error) {
	a, err := r.Array(name, shape...)
	if err != nil {
		return nil, err
	}
	return a.Float64s()
}

// readHeader reads the header of a model file of this version.
func readHeader(r *npz.Reader) (h header, err error) {
	if !r.Has("header") {
		return h, fmt.Errorf("not a model file: it has no array %q", "header")
	}
	list, err := readStrings(r, "header")
	if err != nil {
		return h, err
	}
	if len(list) != 1 || json.Unmarshal([]byte(list[0]), &h) != nil && h.Version == Version || h.Format != format {
		return h, fmt.Errorf("not a model file: its header is %.100q", list)
	}
	if h.Version != Version {
		return h, fmt.Errorf("the model file has version %d, and this program reads version %d: train the model again", h.Version, Version)
	}
	return h, nil
}

func readStrings(r *npz.Reader, name string) ([]string, error) {
	a, err := r.Array(name)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 1 {
		return nil, fmt.Errorf("array %q is %s: one dimension is required", name, a)
	}
	return a.Strings()
}

// An array is one of a file, and its place in memory, where it has the same order.
type array struct {
	name  string
	data  *[]float64
	shape []int
	least float64 // no entry is less
}

// positive is the least positive number.
const positive = math.SmallestNonzeroFloat64

// arrays lists the arrays of numbers: New checks, Save writes and Load reads them.
func (p *Parameters) arrays() []array {
	d, k, any := &p.Design, &p.Tasks, -math.MaxFloat64
	f, t, w := len(p.Schema.Features()), len(k.Names), 1+len(p.Schema.Features())
	for i := range d.Curves {
		w += d.Curves[i].Width()
	}
	list := []array{
		{"fill", &d.Fill, []int{f}, any},
		{"center", &d.Center, []int{f}, any},
		{"scale", &d.Scale, []int{f}, 0},
		{"mean", &p.Mean, []int{w}, any},
		{"mean_covariance", &p.MeanCovariance, []int{dense.Triangle(w)}, any},
		{"deviations", &p.Prior.Deviations, []int{w}, 0},
		{"loadings", &p.Prior.Loadings, []int{p.Prior.Rank, w}, any},
		{"theta", &k.Theta, []int{t, w}, any},
	}
	if e := p.Effects; e != nil {
		list = append(list, array{"effects", &e.Mean, []int{w}, any},
			array{"effects_covariance", &e.Covariance, []int{dense.Triangle(w)}, any})
	}
	if p.Prior.Noise.TaskFreedom > 0 || k.Noise != nil || k.Freedom != nil {
		list = append(list, array{"noise", &k.Noise, []int{t}, positive}, array{"noise_freedom", &k.Freedom, []int{t}, positive})
	}
	return list
}

// check reports a wrong number of entries, or an entry that is not finite or too small.
func (a *array) check() error {
	want := 1
	for _, n := range a.shape {
		want *= n
	}
	if len(*a.data) != want {
		return fmt.Errorf("array %q has %d entries: %d are required", a.name, len(*a.data), want)
	}
	for i, v := range *a.data {
		if !(v >= a.least) || !finite(v) {
			rule := map[float64]string{0: " and not negative", positive: " and positive"}[a.least]
			return fmt.Errorf("array %q: entry %d is %v: it must be finite%s", a.name, i, v, rule)
		}
	}
	return nil
}
