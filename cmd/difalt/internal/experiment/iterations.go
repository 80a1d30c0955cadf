package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/pflag"
)

// Iterations points to the options that simulate and run share.
type Iterations struct {
	Rounds, StartRounds, PowerIterations, Iterations *int
	Seed                                             *uint64
	Workers                                          *int
}

// Graph is the kind of a graph. The present value of *p is the default.
func Graph(p *string) pflag.Value {
	specs := strings.Split(topology.Specs(), ", ")
	return cli.Parsed(p, *p, func(s string) (string, error) {
		if share, random := strings.CutPrefix(s, "er:"); random {
			if p, err := strconv.ParseFloat(share, 64); err != nil || !(p > 0 && p <= 1) {
				return "", errors.New("must be er: and a probability above 0 to 1")
			}
			return s, nil
		}
		if !slices.Contains(specs, s) {
			return "", fmt.Errorf("must be one of %s", topology.Specs())
		}
		return s, nil
	})
}

// Rules are the words for rules of mixing weights, the default first.
var Rules = []string{"metropolis", "equal", "lazy-metropolis"}

// AddIterationFlags adds the flags of options that simulate and run share. Their present values are the
// defaults.
func AddIterationFlags(flags *pflag.FlagSet, to Iterations) {
	flags.Var(cli.Count(to.Rounds, 1, difalt.MaxRounds), "rounds", "average in `N` rounds in an iteration, T_con")
	flags.Var(cli.Count(to.StartRounds, 1, difalt.MaxRounds), "init-rounds",
		"average in `N` rounds in the initialisation (default: as --rounds, at least 10)")
	flags.Var(cli.Count(to.PowerIterations, 1, difalt.MaxIterations), "power-iterations",
		"initialise by `N` power iterations, T_pm (default: 30, of accelerated 2 to 4)")
	flags.Var(cli.Count(to.Iterations, 1, difalt.MaxIterations), "iterations", "end after `N` iterations, T_GD")
	flags.Var(cli.Seed(to.Seed), "seed", "seed `N` of all random numbers")
	flags.Var(cli.Count(to.Workers, 0, kernel.MaxWorkers), "workers", "use `N` threads (default: all processors)")
}
