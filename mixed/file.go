package mixed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/npz"
)

// Version is the version of model files. Load reads this one only.
const Version = 1

const format = "difalt model"

// A header may have a MiB, or as many bytes as headerShare files: it takes some times its size in memory.
const headerShare = 16

// header is the JSON text in the array "header".
type header struct {
	Format  string   `json:"format"`
	Version int      `json:"version"`
	Curves  []int    `json:"curves"`
	Periods []period `json:"periods,omitempty"`
	Parameters
}

// period is a [Period] without its values.
type period struct {
	Feature   int     `json:"feature"`
	Deviation float64 `json:"deviation"`
}

// Save writes the model as a file in NumPy's .npz format.
// With f table features, T tasks, rank r, C curves, and P columns, the file holds
//
//	header       n      JSON text in UTF-8, bytes: format, version, curves (the feature of each), periods
//	                    (the feature and the deviation of each), and the fields of Parameters that are not
//	                    arrays, with the names of columns and tasks
//	samples      T      training rows of every task
//	fill         f      replaces missing features
//	center       f      is subtracted from the features, which are
//	scale        f      then divided by it; columns of scale 0 are 0
//	axes         K x f  for a table with more features than rows; missing for others
//	knots.i      k      knots of curve i, from 0 on
//	values.i     m x k  its m columns at the knots
//	period.i     v      values of period i, NaN for those that only other owners have
//	mean         P      mean of the coefficients over tasks
//	mean_covariance      P(P+1)/2  its covariance, upper triangle by rows
//	effects, effects_covariance  as mean, for the table of effects; may be missing
//	deviations   P      standard deviations of coefficients over tasks
//	loadings     r x P  further deviations, each times a standard normal number
//	theta        T x P  coefficients of every task
//	covariance   T x P(P+1)/2  their covariances; missing if the model does not keep them
//	                    ([mostCovariances])
//	covariance_rows  T  rows of the reduced covariances ([Covariance]), -1 for a task that covariance has:
//	                    it has only these then; missing where none is reduced
//	root         N x P  Root of the reduced covariances one after the other, N rows in all
//	shares       N      and Shares of these
//	mean_factor  T      MeanFactor of all tasks
//	strength_variance P Variances of [Strengths]
//	noise        T      variances of the noise of tasks, and
//	noise_freedom T     their degrees of freedom; missing unless tasks differ by them
//	noise_level, noise_slope  T  of their noise in intervals; missing unless owners differ by them
//
// NumPy and SciPy compute the predictions y of Model.Predict as follows. Before, m = numpy.load(path), h =
// json.loads(m["header"].tobytes()), and t = h["tasks"]["names"].index(task); x has the features, n x f.
// Levels that are unseen are missing in x.
//
//	raw, x = x, np.where(np.isnan(x), m["fill"], x)
//	s = m["scale"]
//	z = [np.ones((len(x), 1)), np.where(s > 0, (x - m["center"]) / np.where(s > 0, s, 1), 0)]
//	if "axes" in m: z = [z[0], z[1] @ m["axes"].T, np.zeros((len(x), 1))]   # theta is 0 there
//	for i, j in enumerate(h["curves"]):
//	    k = m[f"knots.{i}"]
//	    spline = scipy.interpolate.CubicSpline(k, m[f"values.{i}"].T, bc_type="natural")
//	    z.append(spline(np.clip(x[:, j], k[0], k[-1])))
//	for i, p in enumerate(h.get("periods", [])):
//	    z.append(raw[:, p["feature"], None] == m[f"period.{i}"])
//	y = np.hstack(z) @ m["theta"][t]           # m["unseen"], or else m["mean"], for an unseen task
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
	if to == nil {
		return errors.New("mixed: need a writer")
	}
	if len(m.p.Mean) == 0 {
		return errEmpty
	}
	p := &m.p
	h := header{Format: format, Version: Version, Parameters: *p}
	for i := range p.Design.Curves {
		h.Curves = append(h.Curves, p.Design.Curves[i].Feature)
	}
	for _, p := range p.Design.Periods {
		h.Periods = append(h.Periods, period{p.Feature, p.Deviation})
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(h); err != nil {
		return err
	}
	out := npz.NewWriter(to)
	out.Bytes("header", text.Bytes())
	out.Ints("samples", p.Tasks.Samples)
	for i := range p.Design.Curves {
		c := &p.Design.Curves[i]
		out.Float64s(fmt.Sprint("knots.", i), []int{len(c.Knots)}, c.Knots)
		out.Float64s(fmt.Sprint("values.", i), []int{c.Width(), len(c.Knots)}, c.Values)
	}
	for i := range p.Design.Periods {
		values := p.Design.Periods[i].Values
		out.Float64s(fmt.Sprint("period.", i), []int{len(values)}, values)
	}
	if axes := p.Design.Axes; axes != nil {
		out.Float64s("axes", []int{p.Design.axes(), len(m.features)}, axes)
	}
	for _, a := range p.arrays() {
		out.Float64s(a.name, a.shape, *a.data)
	}
	p.Tasks.writeCovariances(out, len(p.Mean))
	return out.Close()
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
	if from == nil {
		return nil, errors.New("mixed: need a reader")
	}
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
	if err := p.checkNames(r, &h); err != nil {
		return nil, err
	}
	if err := p.readNumbers(r, &h); err != nil {
		return nil, err
	}
	return New(p)
}

// checkNames refuses arrays that a model with this header does not have. Otherwise one changed byte in the
// name of an array that may be missing would give a model without it.
func (p *Parameters) checkNames(r *npz.Reader, h *header) error {
	known := map[string]bool{"header": true, "samples": true, "axes": true, "covariance": true}
	if p.Tasks.Strengths != nil {
		for _, name := range []string{"covariance_rows", "root", "shares", "mean_factor", "strength_variance"} {
			known[name] = true
		}
	}
	for i := range h.Curves {
		known[fmt.Sprint("knots.", i)] = true
		known[fmt.Sprint("values.", i)] = true
	}
	for i := range h.Periods {
		known[fmt.Sprint("period.", i)] = true
	}
	for _, a := range p.arrays() {
		known[a.name] = true
	}
	for _, name := range r.Names() {
		if !known[name] {
			return fmt.Errorf("array %.60q is not part of a model with this header", name)
		}
	}
	return nil
}

// readNumbers reads the arrays of numbers; the names of columns and tasks are there.
func (p *Parameters) readNumbers(r *npz.Reader, h *header) error {
	for i, feature := range h.Curves {
		knots, err := readFloats(r, fmt.Sprint("knots.", i), -1)
		if err != nil {
			return err
		}
		values, err := readFloats(r, fmt.Sprint("values.", i), -1, len(knots))
		if err != nil {
			return err
		}
		p.Design.Curves = append(p.Design.Curves, newCurve(feature, knots, values))
	}
	for i, of := range h.Periods {
		values, err := readFloats(r, fmt.Sprint("period.", i), -1)
		if err != nil {
			return err
		}
		p.Design.Periods = append(p.Design.Periods, Period{of.Feature, values, of.Deviation})
	}
	a, err := r.Array("samples", len(p.Tasks.Names))
	if err != nil {
		return err
	}
	if p.Tasks.Samples, err = a.Ints(); err != nil {
		return err
	}
	if r.Has("axes") {
		if p.Design.Axes, err = readFloats(r, "axes", -1, len(p.Schema.Features())); err != nil {
			return err
		}
	}
	for _, a := range p.arrays() {
		if *a.data, err = readFloats(r, a.name, a.shape...); err != nil {
			return err
		}
	}
	return p.Tasks.readCovariances(r, len(p.Mean))
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
	a, err := r.Array("header", -1)
	if err != nil {
		return h, err
	}
	if most := max(1<<20, headerShare*r.Size()); int64(a.Shape[0]) > most {
		return h, fmt.Errorf("array %q has %d bytes: at most %d are read", "header", a.Shape[0], most)
	}
	text, err := a.Bytes()
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil && h.Version == Version || h.Format != format {
		return h, fmt.Errorf("not a model file: its header is %.100q", text)
	}
	if h.Version != Version {
		const format = "the model file has version %d, and this program reads version %d: train the model again"
		return h, fmt.Errorf(format, h.Version, Version)
	}
	return h, nil
}

// An array is an array of numbers in a file, and its place in memory, in equal order.
type array struct {
	name  string
	data  *[]float64
	shape []int
	limits
}

// limits are the least and the largest number of an array.
type limits struct{ least, most float64 }

// positive is the least positive number.
const positive = math.SmallestNonzeroFloat64

// Limits of arrays. Coefficients and variances belong to standardised numbers: training ends far below
// these limits, and sums of products below them are finite.
var (
	noLimits          = limits{-math.MaxFloat64, math.MaxFloat64}
	valueLimits       = limits{-2 * mostValue, 2 * mostValue} // means of values, with their rounding
	scaleLimits       = limits{0, 1e300}
	coefficientLimits = limits{-1e30, 1e30}
	deviationLimits   = limits{0, 1e30}
	covarianceLimits  = limits{-1e60, 1e60}
	varianceLimits    = limits{positive, 1e60}
	freedomLimits     = limits{positive, math.MaxFloat64}
)

// arrays lists the arrays of numbers: New checks, Save writes and Load reads them.
func (p *Parameters) arrays() []array {
	d, k := &p.Design, &p.Tasks
	f, t, w := len(p.Schema.Features()), len(k.Names), 1+len(p.Schema.Features())
	if d.Axes != nil {
		w = 1 + len(d.Axes)/max(f, 1) + 1
	}
	for i := range d.Curves {
		w += d.Curves[i].Width()
	}
	for i := range d.Periods {
		w += len(d.Periods[i].Values)
	}
	list := []array{
		{"fill", &d.Fill, []int{f}, valueLimits},
		{"center", &d.Center, []int{f}, valueLimits},
		{"scale", &d.Scale, []int{f}, scaleLimits},
		{"mean", &p.Mean, []int{w}, coefficientLimits},
		{"mean_covariance", &p.MeanCovariance, []int{dense.Triangle(w)}, covarianceLimits},
		{"deviations", &p.Prior.Deviations, []int{w}, deviationLimits},
		{"loadings", &p.Prior.Loadings, []int{p.Prior.Rank, w}, coefficientLimits},
		{"theta", &k.Theta, []int{t, w}, coefficientLimits},
	}
	if u := p.Unseen; u != nil {
		list = append(list, array{"unseen", &u.Mean, []int{w}, coefficientLimits})
	}
	if e := p.Effects; e != nil {
		list = append(list, array{"effects", &e.Mean, []int{w}, coefficientLimits},
			array{"effects_covariance", &e.Covariance, []int{dense.Triangle(w)}, covarianceLimits})
	}
	if p.Prior.Noise.TaskFreedom > 0 || k.Noise != nil || k.Freedom != nil {
		list = append(list, array{"noise", &k.Noise, []int{t}, varianceLimits},
			array{"noise_freedom", &k.Freedom, []int{t}, freedomLimits})
	}
	if g := k.Growth; g != nil {
		list = append(list, array{"noise_level", &g.Level, []int{t}, limits{-mostLevel, mostLevel}},
			array{"noise_slope", &g.Slope, []int{t}, limits{-mostGrowth, mostGrowth}})
	}
	return list
}

// check reports a wrong number of entries, or an entry beyond the limits.
func (a *array) check() error {
	want := 1
	for _, n := range a.shape {
		want *= n
	}
	if len(*a.data) != want {
		return fmt.Errorf("array %q has %d entries: %d are required", a.name, len(*a.data), want)
	}
	for i, v := range *a.data {
		if !(v >= a.least && v <= a.most) {
			return fmt.Errorf("array %q: entry %d is %v: it must be finite%s", a.name, i, v, a.limits)
		}
	}
	return nil
}

// String continues a sentence about numbers that are finite.
func (l limits) String() string {
	text := map[float64]string{0: " and not negative", positive: " and positive"}[l.least]
	if l.most < math.MaxFloat64 {
		text += fmt.Sprintf(", at most %g in size", l.most)
	}
	return text
}
