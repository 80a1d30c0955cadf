package difalt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"reflect"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
)

// Options configures a run. The zero value of every field but Rank stands for
// the default that its comment names. All nodes of a network run with the same
// options but for Workers, Observer and Logger; they compare them before they start.
type Options struct {
	// Method is the algorithm; DifAltGDmin by default.
	Method Method
	// Rank is r, the number of columns of U. It must be set.
	Rank int
	// Iterations is T_GD, 500 by default.
	Iterations int
	// Rounds is T_con, the number of AGREE rounds in an iteration, 10 by default.
	Rounds int
	// Step is eta, which the paper's methods take and, with PreconditionerNone, the
	// accelerated ones. By default it is 0.4/(n m sigma^2), with n the mean number of
	// samples of a task, m the mean square of an entry of X (1 in the paper), and
	// sigma^2 the initialisation's estimate of sigma_max(Theta)^2.
	Step float64
	// Initialization is for runs without Problem.U0.
	Initialization InitializationOptions
	// Scaled is for the methods whose steps are multiplied by P^-1: ScaledDiffusion,
	// GradientTracking and, with PreconditionerScaled, the accelerated ones.
	Scaled ScaledOptions
	// Accelerated is for Accelerated and AcceleratedTracking.
	Accelerated AcceleratedOptions
	// Ridge is the strength lambda of b_t = argmin |X_t U b - y_t|^2 + lambda |b|^2.
	// 0, the default, is least squares.
	Ridge float64
	// Agreement says how the nodes agree; the zero value is the paper's AGREE in float64.
	// The accelerated methods use Int8 in place of Int4 if P of the first iteration has a
	// condition number above 30, and along a tree Int16 in place of both if P has one above 900:
	// coarse codes would cost them more iterations than they save. Newton sends products as
	// Int16, and gradients in float64.
	// The scaled and accelerated methods take a Trigger of at most 0.5, with 10 Rounds or
	// more.
	Agreement consensus.Agreement
	// Tolerance ends a run as Converged when its distance from a minimiser for the data
	// of all nodes, and that of the nodes from one another, is estimated to be below
	// it; see Result.Residual. It is a subspace distance, 1e-10 by default.
	Tolerance float64
	// EveryIteration asks for all Iterations, as curves do, whatever the Tolerance: nothing
	// is estimated, and a run ends early only when the numbers cease to be finite (but see
	// AcceleratedTracking).
	EveryIteration bool
	// StopAtNoise also ends a run as Converged when that distance is a tenth of the
	// statistical error that noise leaves in U anyway.
	StopAtNoise bool
	// AnyStationary ends a run as Converged wherever its gradient vanishes, without a check whether that is a
	// minimum or could be caused by noise: for callers who judge directions themselves, as
	// package fit does by its evidence.
	AnyStationary bool
	// NormalizeTasks divides every y_t by its own root mean square, for tasks whose
	// responses differ in size a hundredfold, where the large ones would hide the
	// small. Then every task counts the same in the objective: under noise, a task
	// that is mostly noise counts as much as one that is not. Coefficients come back in
	// the units of y_t, and Record.Objective is that of the divided responses.
	NormalizeTasks bool
	// MixedPrecision iterates on a copy of the samples in 16 bits, which takes a quarter of
	// their memory again, and streams in a quarter of the time. Where U_g hardly moves any
	// more, an iteration reads the samples themselves and the next ones start from what it
	// has found, five or six times in a run of Accelerated: the result has the digits of
	// float64, after as many iterations. Where the samples of all nodes take less than 8 MB,
	// which caches hold, nothing is copied, and the bits are those without it. Only these iterations, and the products of Newton,
	// read the samples, which may be on disk (kernel.NewBuilderOnDisk). It is faster with the kernels
	// avx2 and avx512, and slower than float64 with the generic one.
	MixedPrecision bool
	// SampleSplit uses disjoint samples in the initialisation, in every minimisation
	// and in every gradient, as the theory does (Alg. 3, line 4). Every task then
	// needs at least (2 Iterations + 2) Rank samples. There is no distance to a
	// minimiser then, and so no convergence.
	SampleSplit bool
	// Workers is the number of threads; 0, the default, means GOMAXPROCS. Results do
	// not depend on it.
	Workers int
	// Seed of the power iteration's Gaussian start.
	Seed uint64
	// Observer is called once with every Record; nil observes nothing and costs
	// nothing. The record is valid during the call. ErrStop ends the run at all nodes, as
	// Canceled and without an error: here at once if all nodes live here, and otherwise
	// when the others know, some iterations later. Any other error is returned; the solver
	// keeps the state that was observed, and nodes elsewhere lose this one.
	Observer func(*Record) error
	// Logger receives progress at debug level and what a user should know at warn
	// level. Nil is silent.
	Logger *slog.Logger
}

// InitializationOptions are those of the spectral initialisation (Alg. 2).
type InitializationOptions struct {
	// Rounds is the number of AGREE rounds in a power iteration; as Options.Rounds by
	// default, but at least 10. The accelerated methods take exact sums instead.
	Rounds int
	// PowerIterations is T_pm, 30 by default. The accelerated methods take two, three or
	// four, until all Rank directions stand out of the sampling noise: fewer cost them more
	// iterations where the condition number is large or samples are few, more cost as many
	// rounds as they spare.
	PowerIterations int
	// Kappa and Mu are the condition number and incoherence that the truncation
	// threshold 9 Kappa^2 Mu^2 mean(y^2) assumes (Alg. 2, line 3); 1 by default. The mean is
	// that of all nodes, which have added it up before, and not what AGREE makes of it (line 4).
	Kappa, Mu float64
	// AsPrinted runs lines 4 and 15 of Alg. 2 by AGREE as well, with Rounds each: every node
	// truncates by a threshold of its own, and an iteration takes twice as many rounds. By
	// default the threshold is exact and node 0 broadcasts along a tree. Not for the accelerated
	// methods, which sum.
	AsPrinted bool
}

// ScaledOptions are those of the methods that multiply gradients by P^-1.
type ScaledOptions struct {
	// Step is s, the step relative to the Newton-like step 1/(n m); 0.7 by default.
	Step float64
}

// AcceleratedOptions are those of the accelerated methods.
type AcceleratedOptions struct {
	// Memory is how many changes Anderson acceleration keeps, 10 by default.
	Memory int
	// Preconditioner says by what gradients are multiplied.
	Preconditioner Preconditioner
}

// Validate returns an error that names the first field with a value out of range, a
// *ParameterError where it is one field.
func (o *Options) Validate() error {
	if int(o.Method) >= len(methods) {
		return &ParameterError{"Method", uint8(o.Method), "not a method"}
	}
	if o.Rank <= 0 {
		return &ParameterError{"Rank", o.Rank, "need at least 1"}
	}
	init := &o.Initialization
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"Iterations", o.Iterations, MaxIterations}, {"Rounds", o.Rounds, MaxRounds}, {"Workers", o.Workers, kernel.MaxWorkers},
		{"Initialization.Rounds", init.Rounds, MaxRounds}, {"Initialization.PowerIterations", init.PowerIterations, MaxIterations},
		{"Accelerated.Memory", o.Accelerated.Memory, MaxMemory},
	} {
		if f.value < 0 || f.value > f.most {
			return &ParameterError{f.name, f.value, fmt.Sprintf("must be from 0 to %d", f.most)}
		}
	}
	if int(o.Accelerated.Preconditioner) >= len(preconditionerNames) {
		return &ParameterError{"Accelerated.Preconditioner", uint8(o.Accelerated.Preconditioner), "not a preconditioner"}
	}
	if init.AsPrinted && o.traits().accelerated {
		return &ParameterError{"Initialization.AsPrinted", true, fmt.Sprintf("%v begins with sums", o.Method)}
	}
	if o.MixedPrecision && o.SampleSplit {
		return errors.New("difalt: MixedPrecision and SampleSplit do not go together")
	}
	for _, f := range []struct {
		name        string
		value, most float64
	}{
		{"Step", o.Step, MaxStep}, {"Scaled.Step", o.Scaled.Step, MaxStep}, {"Ridge", o.Ridge, MaxRidge}, {"Tolerance", o.Tolerance, math.MaxFloat64},
		{"Initialization.Kappa", init.Kappa, MaxKappa}, {"Initialization.Mu", init.Mu, MaxKappa},
	} {
		if !(f.value >= 0 && f.value <= f.most) {
			return &ParameterError{f.name, f.value, fmt.Sprintf("must be from 0 to %g", f.most)}
		}
	}
	if trigger := o.Agreement.Trigger; trigger > 0 && o.traits().scaled && (cmp.Or(o.Rounds, 10) < triggeredRounds || trigger > longestSilence) {
		return &ParameterError{"Agreement.Trigger", trigger,
			fmt.Sprintf("%v multiplies what silent nodes leave unsaid: need at least %d Rounds and at most %v", o.Method, triggeredRounds, longestSilence)}
	}
	return o.Agreement.Validate()
}

// The upper ends of the ranges of numbers, of which the lower end is 0: far beyond what
// makes sense, and as large as nothing overflows.
const (
	MaxIterations = 1_000_000_000 // of the method, and of the power method
	MaxRounds     = 1_000_000_000 // of an iteration
	MaxMemory     = 1000
	MaxKappa      = 1e60 // and Mu
	MaxStep       = math.MaxFloat64
	MaxRidge      = 1e300
)

// Where the scaled and accelerated methods arrive with an event trigger: of runs with one
// and three rounds a sixth to all failed, none of those with ten.
const (
	triggeredRounds = 10
	longestSilence  = 0.5
)

// withDefaults returns the options with zero values replaced.
func (o Options) withDefaults() Options {
	o.Iterations = cmp.Or(o.Iterations, 500)
	o.Rounds = cmp.Or(o.Rounds, 10)
	o.Initialization.Rounds = cmp.Or(o.Initialization.Rounds, max(o.Rounds, 10))
	if !o.traits().accelerated { // which look at what they find
		o.Initialization.PowerIterations = cmp.Or(o.Initialization.PowerIterations, 30)
	}
	o.Scaled.Step = cmp.Or(o.Scaled.Step, 0.7)
	o.Accelerated.Memory = cmp.Or(o.Accelerated.Memory, 10)
	o.Initialization.Kappa = cmp.Or(o.Initialization.Kappa, 1)
	o.Initialization.Mu = cmp.Or(o.Initialization.Mu, 1)
	o.Tolerance = cmp.Or(o.Tolerance, 1e-10)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// own are the options that may differ between nodes, since results do not depend on them
// but by what their observers do; Privacy.Account is compared by what it has spent.
var own = []string{"Workers", "Observer", "Logger", "Account"}

// Settings returns the options that all nodes must have alike, with defaults in the place
// of zero values, whether or not they are valid. Names are those of the fields, as in
// "Initialization.Rounds", but for those of Agreement.
func (o Options) Settings() []wire.Setting {
	return appendSettings(nil, "", reflect.ValueOf(o.withDefaults()))
}

// appendSettings appends the fields of a struct, and of the structs in it.
func appendSettings(list []wire.Setting, prefix string, v reflect.Value) []wire.Setting {
	for i := range v.NumField() {
		name, field := prefix+v.Type().Field(i).Name, v.Field(i)
		switch {
		case slices.Contains(own, name):
		case name == "Agreement":
			list = append(list, field.Interface().(consensus.Agreement).Settings()...)
		case field.Kind() == reflect.Struct:
			list = appendSettings(list, name+".", field)
		default:
			list = append(list, wire.Setting{Name: name, Value: fmt.Sprint(field.Interface())})
		}
	}
	return list
}

// settings returns all that the nodes must have alike.
func (s *process) settings() []wire.Setting {
	return append(append(s.o.Settings(), networkSettings(s.problem, s.net)...),
		wire.Setting{Name: "U0 of the problem", Value: givenOrNot(s.problem.U0 != nil)},
		wire.Setting{Name: "Start of the problem", Value: givenOrNot(s.problem.Start != nil)},
		wire.Setting{Name: "Moments of the problem", Value: givenOrNot(s.problem.Moments != nil)})
}

// networkSettings returns what is the same in every run of nodes with such data in this network.
func networkSettings(p *Problem, net *consensus.Network) []wire.Setting {
	return []wire.Setting{
		{Name: "the number of features", Value: fmt.Sprint(p.Nodes[0].Features())},
		{Name: "the fingerprint of the mixing weights", Value: fmt.Sprintf("%016x", net.Weights().Fingerprint())},
	}
}

func givenOrNot(given bool) string {
	if given {
		return "given"
	}
	return "not given"
}

// digits returns four numbers below 2^12, which tell lists of settings apart, and their squares.
func digits(settings []wire.Setting) (list []float64) {
	h := fnv.New64a()
	fmt.Fprint(h, settings)
	for sum := h.Sum64(); len(list) < 8; sum >>= 16 {
		v := float64(sum >> 4 & (1<<12 - 1))
		list = append(list, v, v*v)
	}
	return list
}

// alike reports whether all of so many nodes have the same digits, from their sums: the square
// of the sum of v is the number of nodes times the sum of v^2 only if all v are the same. Up to
// some 2^14 nodes all of this is exact.
func alike(sums []float64, nodes int) bool {
	for k := 0; k < len(sums); k += 2 {
		if sums[k]*sums[k] != float64(nodes)*sums[k+1] {
			return false
		}
	}
	return true
}

// nameDifference returns an error that names the first node whose settings are not those of this
// one, and what differs: a *wire.PeerError, since that node may be wrong, or wire.ErrUntrue.
func nameDifference(ctx context.Context, net *consensus.Network, settings []wire.Setting) error {
	own, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	all, err := net.Gather(ctx, slices.Repeat([][]byte{own}, len(net.Hosted())))
	if err != nil {
		return err
	}
	const what = "difalt: the nodes do not run with the same Options and mixing weights"
	for g, text := range all {
		var there []wire.Setting
		_ = json.Unmarshal(text, &there) // what cannot be read is unknown
		if differ := wire.Difference(there, fmt.Sprintf("at node %d", g), settings, "here"); differ != "" {
			return &wire.PeerError{Peer: g, Kind: wire.Refused, Err: fmt.Errorf("%s: %s, as it says by way of others", what, differ)}
		}
	}
	return fmt.Errorf("%s, though all say that they do: %w", what, wire.ErrUntrue)
}
