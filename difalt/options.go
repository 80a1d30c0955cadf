package difalt

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
)

// Options configures a run. The zero value of every field but Rank is the default that its comment names. All
// nodes of a network need equal options, except for Average, Workers, Observer and Logger; they compare
// them first.
type Options struct {
	// Method is the algorithm; DifAltGDmin by default.
	Method Method
	// Rank is r, the number of columns of U. It is required.
	Rank int
	// Iterations is T_GD, 500 by default.
	Iterations int
	// Rounds is T_con, the number of AGREE rounds in an iteration, 10 by default. Dif and Dec use it.
	Rounds int
	// Step is eta of the paper's methods, 0.4/(n m sigma^2) by default. n is the mean number of samples of a
	// task, m the mean square of an entry of X, and sigma^2 estimates sigma_max(Theta)^2.
	Step float64
	// PowerIterations and StartRounds are T_pm and T_con,init of Alg. 2, 30 and max(Rounds, 10) by default.
	// Accelerated adds along the tree, and by default stops after two to four power iterations.
	PowerIterations, StartRounds int
	// Kappa and Mu are the condition number and the incoherence in the truncation threshold of Alg. 2; 1 by
	// default.
	Kappa, Mu float64
	// Ridge is lambda of b_t = argmin |X_t U b - y_t|^2 + lambda |b|^2; 0, the default, is least squares.
	Ridge float64
	// Codec is the number of bits of an entry that Accelerated sends, Int8 by default.
	Codec consensus.Codec
	// Tolerance ends a run as Converged when the estimated subspace distance from a minimiser for the data of
	// all nodes is below it; see Result.Residual. It is 1e-10 by default.
	Tolerance float64
	// StopAtNoise also ends a run as Converged when that distance is below a tenth of the statistical error,
	// and again at least five iterations later. In between the objective must fall by no more than such a
	// distance explains.
	StopAtNoise bool
	// EveryIteration runs all Iterations, whatever the Tolerance, unless a number is not finite.
	EveryIteration bool
	// SampleSplit uses disjoint samples in the initialisation, in every minimisation and in every gradient
	// (Alg. 3, line 4). A task needs (2 Iterations + 2) Rank samples. All Iterations run. Not for
	// Accelerated.
	SampleSplit bool
	// Inner marks a run that is a part of a longer computation on the network, whose end is checked as a
	// whole: Converged then means that Tolerance or StopAtNoise is satisfied, at a minimum or a saddle point.
	// The caller lets the nodes confirm (consensus.Network) before it shows a result to anybody.
	Inner bool
	// AnyFeatures accepts features whose offsets or sizes mislead the methods; see features.Standardize.
	AnyFeatures bool
	// Workers is the number of threads; 0 is GOMAXPROCS. Results do not depend on it.
	Workers int
	// Seed determines the Gaussian start of the power iteration.
	Seed uint64
	// Average replaces AGREE: it returns an exchange of that number of rounds. Nil is Network.Agree.
	Average func(net *consensus.Network, rounds int, pool *kernel.Pool) (consensus.Exchange, error)
	// Observer is called with the Record of every state, which is valid during the call. If it returns
	// ErrStop the run ends at all nodes as Canceled; any other error ends it at this process. It may call
	// Result, Snapshot and U of its solver. Step, Run and Iterations return an error there.
	Observer func(*Record) error
	// Logger receives warnings about the result and progress. Nil is silent.
	Logger *slog.Logger
}

// The upper ends of the ranges of options, whose lower ends are 0.
const (
	MaxIterations = 1_000_000_000
	MaxRounds     = consensus.MaxRounds
	MaxKappa      = 1e60 // and Mu
	MaxRidge      = 1e150
)

// Validate returns a *ParameterError that names the first field with a value out of range. The arguments are
// the number of features and of tasks over all nodes; 0 is a number that is not known yet. A service refuses
// a run before it starts.
func (o *Options) Validate(features, tasks int) error {
	switch {
	case int(o.Method) >= len(methods):
		return &ParameterError{"Method", o.Method, "not a method"}
	case o.Rank <= 0:
		return &ParameterError{"Rank", o.Rank, "must be at least 1"}
	case features > 0 && o.Rank > features:
		return &ParameterError{"Rank", o.Rank, fmt.Sprintf("must be at most the %d features", features)}
	case tasks > 0 && o.Rank > tasks:
		return &ParameterError{"Rank", o.Rank, fmt.Sprintf("must be at most the %d tasks", tasks)}
	case o.Codec != 0 && o.Method != Accelerated:
		return &ParameterError{"Codec", o.Codec, "only Accelerated uses codes"}
	case o.SampleSplit && o.Method == Accelerated:
		return &ParameterError{"SampleSplit", true, "does not go together with Accelerated"}
	}
	if o.Codec != 0 {
		if _, err := consensus.ParseCodec(o.Codec.String()); err != nil {
			return &ParameterError{"Codec", o.Codec, "must be Int8, Int16 or Float64"}
		}
	}
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"Iterations", o.Iterations, MaxIterations}, {"Rounds", o.Rounds, MaxRounds},
		{"StartRounds", o.StartRounds, MaxRounds}, {"Workers", o.Workers, kernel.MaxWorkers},
		{"PowerIterations", o.PowerIterations, MaxIterations},
	} {
		if f.value < 0 || f.value > f.most {
			return &ParameterError{f.name, f.value, fmt.Sprintf("must be from 0 to %d", f.most)}
		}
	}
	for _, f := range []struct {
		name        string
		value, most float64
	}{
		{"Step", o.Step, math.MaxFloat64}, {"Ridge", o.Ridge, MaxRidge},
		{"Tolerance", o.Tolerance, math.MaxFloat64}, {"Kappa", o.Kappa, MaxKappa}, {"Mu", o.Mu, MaxKappa},
	} {
		if !(f.value >= 0 && f.value <= f.most) {
			return &ParameterError{f.name, f.value, fmt.Sprintf("must be from 0 to %g", f.most)}
		}
	}
	return nil
}

// Settings returns the options that all nodes need alike, with defaults for zero values, by the names of the
// fields: all but Average, Workers, Observer and Logger.
func (o Options) Settings() (list []consensus.Setting) {
	o = o.withDefaults()
	for _, field := range []struct {
		name  string
		value any
	}{
		{"Method", o.Method}, {"Rank", o.Rank}, {"Iterations", o.Iterations}, {"Rounds", o.Rounds}, {"Step", o.Step},
		{"PowerIterations", o.PowerIterations}, {"StartRounds", o.StartRounds}, {"Kappa", o.Kappa}, {"Mu", o.Mu},
		{"Ridge", o.Ridge}, {"Codec", o.Codec}, {"Tolerance", o.Tolerance}, {"StopAtNoise", o.StopAtNoise},
		{"EveryIteration", o.EveryIteration}, {"SampleSplit", o.SampleSplit}, {"Inner", o.Inner},
		{"AnyFeatures", o.AnyFeatures}, {"Seed", o.Seed},
	} {
		list = append(list, consensus.Setting{Name: field.name, Value: fmt.Sprint(field.value)})
	}
	return list
}

// withDefaults returns the options with zero values replaced.
func (o Options) withDefaults() Options {
	o.Iterations = cmp.Or(o.Iterations, 500)
	o.Rounds = cmp.Or(o.Rounds, 10)
	o.StartRounds = cmp.Or(o.StartRounds, max(o.Rounds, 10))
	o.EveryIteration = o.EveryIteration || o.SampleSplit
	if o.Method == Accelerated {
		o.Codec = cmp.Or(o.Codec, consensus.Int8)
	} else {
		o.PowerIterations = cmp.Or(o.PowerIterations, 30)
	}
	o.Kappa, o.Mu = cmp.Or(o.Kappa, 1), cmp.Or(o.Mu, 1)
	o.Tolerance = cmp.Or(o.Tolerance, 1e-10)
	if o.Average == nil {
		o.Average = (*consensus.Network).Agree
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// startCodec returns the representation of numbers in the messages of the initialisation.
func (o *Options) startCodec() consensus.Codec {
	if o.Method == Accelerated {
		return o.Codec
	}
	return consensus.Float64
}

// startExchange returns the exchange of the initialisation.
func (o *Options) startExchange(net *consensus.Network, pool *kernel.Pool) (consensus.Exchange, error) {
	if o.Method == Accelerated {
		return net.TreeMean(), nil
	}
	return o.average(net, o.StartRounds, pool)
}

// average returns the exchange of Average. It returns an error if Average returns neither an exchange nor an
// error.
func (o *Options) average(net *consensus.Network, rounds int, pool *kernel.Pool) (consensus.Exchange, error) {
	x, err := o.Average(net, rounds, pool)
	if err == nil && x == nil {
		err = &ParameterError{"Average", "a function", "it returned neither an exchange nor an error"}
	}
	return x, err
}

// A ParameterError reports an option, or an argument, that is out of range.
type ParameterError struct {
	Name  string // of the field
	Value any    // of the field, of its type
	Why   string
}

func (e *ParameterError) Error() string {
	return fmt.Sprintf("difalt: %s is %v: %s", e.Name, e.Value, e.Why)
}
