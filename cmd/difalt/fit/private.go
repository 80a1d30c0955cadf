package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/private"
	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/floats"
)

// Privacy is a budget of differential privacy: see Config.
type Privacy struct {
	// Epsilon is above 0, or 0 for a fit without it; Delta is T^-1.1 of T tasks if it is 0.
	Epsilon, Delta float64
	// Colluding is how many nodes may put together what they know, with Epsilon still holding against them.
	Colluding int
}

// Private is what a report says about a private fit.
type Private struct {
	*private.Account
	Nodes, Tasks int
	// Clipped counts the tasks of this process whose coefficients were cut to the largest length, and Silent those without any.
	// Nobody else knows.
	Clipped, Silent int
	// Unknown are the columns whose scale the noise hides, since there are too few tasks: they are not scaled.
	Unknown []string
}

// notes say what was spent, and against whom that holds.
func (p *Private) notes() (list sentences) {
	words := fmt.Sprintf("What others learn of the rows of a task has differential privacy: epsilon %.3g at delta %.2g", p.Epsilon(), p.Delta())
	if p.Nodes > 1 {
		words += fmt.Sprintf("; against one of the %d nodes, which knows its own noise, epsilon %.3g", p.Nodes, p.Against(1, p.Nodes))
	}
	if half := p.Nodes / 2; half > 1 {
		words += fmt.Sprintf("; against %d of them together, %.3g", half, p.Against(half, p.Nodes))
	}
	list.when(true, "%s. Another fit of the same rows spends as much again.", words)
	var parts []string
	for spent := p.Spent(); len(spent) > 0; {
		all := spent[0]
		for spent = spent[1:]; len(spent) > 0 && spent[0].What == all.What; spent = spent[1:] {
			all.Rho += spent[0].Rho
			all.Numbers += spent[0].Numbers
		}
		parts = append(parts, fmt.Sprintf("%s %.0f %% (%s)", all.What, 100*all.Rho/p.Rho(), text.Plural(all.Numbers, "number")))
	}
	list.when(true, "Spent of rho = %.3g: %s.", p.Rho(), strings.Join(parts, "; "))
	list.when(p.Nodes > 1, "Errors, strengths and traffic are those of the tasks of this process; nobody was told of them.")
	list.when(p.Clipped+p.Silent > 0, "Of the tasks of this process %d had coefficients beyond the length that counts, and %d none; nobody was told.", p.Clipped, p.Silent)
	var names []string
	for _, name := range p.Unknown {
		names = append(names, fmt.Sprintf("%q", name))
	}
	list.when(names != nil, "How large the values of these columns are cannot be told from the noise: %s. They are taken as they are, which is right if their deviations are near 1.", text.List(names))
	return list
}

// maxPrivateFeatures bounds the features of a private fit: the noise grows with them.
const maxPrivateFeatures = 200

// Parts of the budget for how columns are scaled; the mean takes a quarter of the rest, and the representation what is left.
const partScales, partCenters = 0.1, 0.05

// checkPrivate refuses what would tell more than the budget allows, or would cost some of it.
func (c *Config) checkPrivate(t *dataset.Table) error {
	p := &c.Privacy
	if *p == (Privacy{}) {
		return nil
	}
	if _, err := private.NewAccount(p.Epsilon, cmp.Or(p.Delta, private.DefaultDelta(1)), p.Colluding); err != nil {
		return err
	}
	for _, no := range []struct {
		given bool
		why   string
	}{
		{c.Rank == 0, "needs a rank: choosing one by the data would cost budget"},
		{c.Plain, "is for tables with intercepts, not for a plain fit"},
		{c.Auto, "has a method of its own: it leaves nothing to choose"},
		{c.Options.Method != difalt.Accelerated || c.Options.Agreement.Polynomial != consensus.Tree || c.Options.Agreement.Codec != consensus.None,
			"adds up along a tree, in full: other methods, gossip and codes would tell more"},
		{c.Options.NormalizeTasks, "does not divide tasks by their root mean square"},
		{c.Drive != nil, "has no run of the algorithm that one could drive"},
		{c.Weights != nil, "knows no weights of rows"},
		{c.Continue != nil, "continues no model: that was made of the rows"},
		{c.Intercept != nil || c.Ridge != nil || c.MeanRidge != nil, "takes no ridges: every process finds those of its own tasks"},
		{c.CommonNoise, "knows one noise only, of the tasks of a process"},
		{t.GroupColumn() != "", "keeps no groups of rows together: which are held out would depend on those of other tasks"},
		{len(t.Features()) > maxPrivateFeatures, fmt.Sprintf("takes at most %d features: there are %d", maxPrivateFeatures, len(t.Features()))},
		{p.Colluding >= c.Network.Len(), fmt.Sprintf("protects nobody if %d of %d nodes collude", p.Colluding, c.Network.Len())},
	} {
		if no.given {
			return errors.New("a fit with a privacy budget " + no.why)
		}
	}
	return nil
}

// A privateFit is one of which others learn nothing but totals with noise, for a budget. It has a short path of its own, so that nothing else
// can be told: what depends on rows goes through privateFit.sum and difalt.RunPrivate, or stays here.
type privateFit struct {
	*design
	c     *Config
	about *Private
	// Of every feature, and last of the target: about the standard deviation within a task, and by how much a center may be off.
	deviation, centerNoise []float64
	clipped                bool // targets of most tasks are farther from their center than it could come
}

// fitPrivate fits with differential privacy.
func fitPrivate(ctx context.Context, t *dataset.Table, c *Config) (*model.Model, *Report, error) {
	before := c.Network.Traffic()
	d, err := introduced(ctx, t, c) // by nothing that depends on rows
	if err != nil {
		return nil, nil, err
	}
	d.trainOnAll()
	d.groupRows(nil)
	account, err := private.NewAccount(c.Privacy.Epsilon, cmp.Or(c.Privacy.Delta, private.DefaultDelta(d.Tasks)), c.Privacy.Colluding)
	if err != nil {
		return nil, nil, err
	}
	s := &privateFit{design: d, c: c, about: &Private{Account: account, Nodes: d.Len(), Tasks: d.Tasks}}
	c.progress("scales", 0, 1)
	if err := s.scale(ctx); err != nil {
		return nil, nil, err
	}
	c.progress("scales", 1, 1)
	c.progress("representation", 0, 1)
	res, err := s.slopes(ctx)
	if err != nil {
		return nil, nil, err
	}
	c.progress("representation", 1, 1)
	r := &Report{Folds: s.folds, Converged: true, Options: c.Options, Private: s.about, Traffic: c.Network.Traffic().Minus(before)}
	m, err := s.conclude(context.WithoutCancel(ctx), r, res)
	return m, r, err
}

// together ends the fit at all nodes if the context of one has ended.
func (s *privateFit) together(ctx context.Context) error {
	_, err := s.Sum(ctx, s.Zeros(0))
	return err
}

// sum spends a part of the budget on the sum of n numbers over all tasks, to which add adds those of task k of the table, by its own rows.
func (s *privateFit) sum(ctx context.Context, what string, part float64, n int, add func(k int, v []float64)) (*private.Total, error) {
	if err := s.together(ctx); err != nil {
		return nil, err
	}
	tasks := make([]int, len(s.layout))
	for g, list := range s.layout {
		tasks[g] = len(list)
	}
	total, err := s.about.Sum(context.WithoutCancel(ctx), s.Net, what, part*s.about.Budget(), tasks, n, func(g, i int, v []float64) { add(s.layout[g][i], v) })
	if err == nil {
		s.Net.Commit()
	}
	return total, err
}

// slopes finds the mean and the representation of the slopes: of rows less the means of their task, in which there are no intercepts.
func (s *privateFit) slopes(ctx context.Context) (*difalt.PrivateResult, error) {
	const most = 1e100 // of an entry that a scale from too much noise has made large
	if err := s.together(ctx); err != nil {
		return nil, err
	}
	k := len(s.Center)
	row := make([]float64, k+1) // scaled features and target
	read := func(i int) []float64 {
		row[k] = s.fullRow(row, i)
		for j, v := range row {
			row[j] = min(max(v, -most), most)
		}
		return row
	}
	means := make([][]float64, len(s.t.Tasks()))
	for t := range means {
		means[t] = make([]float64, k+1)
		n := 0.0
		s.eachTraining([]int{t}, func(i int) {
			floats.Add(means[t], read(i))
			n++
		})
		floats.Scale(1/max(n, 1), means[t])
	}
	packed, err := s.t.Pack(s.layout, s.train, k, func(x []float64, i int) float64 {
		mean := means[s.t.Task(i)]
		floats.SubTo(x, read(i)[:k], mean[:k])
		return row[k] - mean[k]
	})
	if err != nil {
		return nil, err
	}
	// The target is scaled to a deviation of at most 1 within a task, which slopes of standardised features seldom exceed.
	res, err := difalt.RunPrivate(context.WithoutCancel(ctx), &difalt.Problem{Nodes: packed}, s.Net,
		difalt.Privacy{Rank: max(s.c.Rank, 0), Account: s.about.Account, MeanBound: 1, Workers: s.c.Options.Workers})
	if err != nil {
		return nil, err
	}
	s.about.Clipped, s.about.Silent = res.Clipped, res.Silent
	return res, nil
}

// conclude makes the model, and judges it by the tasks of this process.
func (s *privateFit) conclude(ctx context.Context, r *Report, res *difalt.PrivateResult) (*model.Model, error) {
	rows, e, err := s.estimatePrivate(ctx, res)
	if err != nil {
		return nil, err
	}
	r.Chosen = Candidate{Rank: e.Rank, Intercept: 1 / e.Intercept, Ridge: 1 / e.Spread, MeanRidge: math.Inf(1), Axes: s.axes(e)}
	m, err := s.model(s.c, &s.c.Options, rows, estimates{e})
	if err != nil {
		return nil, err
	}
	own := s.own()
	workers := parallel.Workers(s.c.Options.Workers)
	single, err := own.fitSingle(ctx, 1, workers)
	if err != nil {
		return nil, err
	}
	if err := own.score(ctx, r, workers, []method{{Score: Score{Method: nameOf(e.Rank)}, of: own, theta: e.theta}, *single, own.taskMeans()}); err != nil {
		return nil, err
	}
	r.Notes = s.about.notes()
	if r.Verdict.Other != "" {
		r.Verdict.Text = r.Verdict.words(&r.Chosen, nil)
	} else {
		r.Verdict.Text = "No rows were held out."
	}
	return m, nil
}

// own returns the design with the tasks of this process as those of a single node, which tells nobody anything.
func (s *privateFit) own() *design {
	d := *s.design
	d.Group, d.layout = nodes.Alone(), dataset.Layout{nil}
	for _, list := range s.layout {
		d.layout[0] = append(d.layout[0], list...)
	}
	d.fold = d.t.Folds(d.train, d.folds, s.c.Options.Seed)
	return &d
}
