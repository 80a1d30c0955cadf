package difalt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/difalt/minimum"
)

// finish ends a run that a check of all nodes ends with the given status: it is the only way out of Running
// in a network of several processes. It settles, lets all nodes confirm that they received equal totals,
// and then ends the run, or returns Running at a saddle point. caller is the context of the caller, whose end
// does not cut off a message.
func (s *Solver) finish(ctx, caller context.Context, status Status) (Status, error) {
	if status == Converged && !s.o.Inner {
		settled, err := s.settle(ctx)
		if err != nil {
			return s.fail(ctx, settling, err)
		}
		if settled == Running {
			return Running, nil
		}
		status = settled
	}
	if err := s.confirm(ctx); err != nil {
		return s.fail(ctx, confirming, err)
	}
	return s.end(caller, status)
}

// maxEscapes is the number of times that a run leaves a saddle point.
const maxEscapes = 12

// settle checks whether a run that satisfies the stop rule is at a minimum, where noise is not negligible. It
// returns Converged or Undetermined, or Running, with the solver at a better U, at a saddle point.
func (s *Solver) settle(ctx context.Context) (Status, error) {
	p, rule := &s.point, &s.checker.rule
	data := &p.totals.Data
	known := &minimum.Totals{Tasks: data.Tasks, Samples: data.Samples, XX: data.XX, YY: data.YY}
	o := minimum.Options{Ridge: s.o.Ridge, Seed: s.o.Seed, Pool: s.pool, Totals: known}
	outcome, err := minimum.Check(ctx, s.net, s.problem.Nodes, p.u, o)
	if err != nil {
		return Running, err
	}
	rule.Noise = max(rule.Noise, outcome.StatisticalError)
	switch {
	case outcome.Verdict == minimum.Minimum:
		return Converged, nil
	case outcome.Verdict == minimum.Saddle && rule.Escapes < maxEscapes && p.iteration < s.o.Iterations:
		rule.escape(p.iteration)
		copyBases(p.u, outcome.U)
		s.method.start(p)
		return Running, nil
	}
	return Undetermined, nil
}

// confirm returns an error unless all nodes have received equal totals.
func (s *Solver) confirm(ctx context.Context) error {
	if s.o.Inner {
		return nil
	}
	return s.net.Confirm(ctx)
}

// The stages of a run, for errors.
const (
	starting   = "start"
	observing  = "observer"
	checking   = "stop check"
	averaging  = "average"
	settling   = "check of the minimum"
	confirming = "confirmation"
)

// located returns an error with the place where the algorithm was. Errors about arguments and data have
// their place already.
func (s *Solver) located(stage string, err error) error {
	var parameter *ParameterError
	var data *DataError
	if errors.As(err, &parameter) || errors.As(err, &data) || errors.Is(err, features.ErrNotStandard) {
		return err
	}
	return fmt.Errorf("difalt: iteration %d, %s: %w", s.point.iteration, stage, err)
}

// fail ends the run for good, or as Canceled if the context ended in a process with all nodes.
func (s *Solver) fail(ctx context.Context, stage string, err error) (Status, error) {
	if s.net.AllHosted() && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return s.end(ctx, Canceled)
	}
	s.fault = s.located(stage, err)
	return s.status, s.fault
}

// end sets the status with which the run ends, and the error that Step returns with it from now on. If the
// run diverged, U becomes the best known state.
func (s *Solver) end(caller context.Context, status Status) (Status, error) {
	s.status = status
	switch status {
	case Diverged:
		copyBases(s.point.u, s.checker.best)
		s.fault = s.divergence()
	case Canceled:
		s.fault = caller.Err()
	}
	if s.started {
		s.report()
	}
	return status, s.fault
}

// divergence returns the error of a diverged run.
func (s *Solver) divergence() error {
	if s.o.Method == Accelerated { // which has no step to choose
		return fmt.Errorf("%w: are features or responses of tasks far apart in size?", ErrDiverged)
	}
	return fmt.Errorf("%w: take a shorter step or more rounds", ErrDiverged)
}

// poorlyKnown is the statistical error above which a direction of U is hardly better than a random one.
const poorlyKnown = 0.3

// report logs warnings about a run that has ended.
func (s *Solver) report() {
	log, rule, iterations := s.o.Logger, &s.checker.rule, s.point.iteration
	if !log.Enabled(context.Background(), slog.LevelWarn) {
		return
	}
	last := s.record(s.refit())
	if last.Singular > 0 && s.o.Ridge == 0 {
		log.Warn("some tasks have no unique least-squares solution; a ridge avoids that", "tasks", last.Singular)
	}
	switch {
	case s.status == Diverged && s.o.Method == Accelerated:
		log.Warn("the run diverged", "iterations", iterations)
	case s.status == Diverged:
		log.Warn("the run diverged", "iterations", iterations, "step", s.stepSize())
	case s.status == IterationLimit && rule.Residual > rule.threshold():
		log.Warn("the run has not converged: more iterations or another method may help",
			"residual", rule.Residual, "tolerance", rule.threshold())
	case s.status == Undetermined, s.status == Converged && rule.Noise > poorlyKnown:
		log.Warn("the data hardly determine a direction of U: use a smaller rank, or more samples",
			"statistical error", rule.Noise)
	}
	log.Info("the run has ended", "status", s.status, "iterations", iterations, "objective", last.Objective)
}
