package mixed

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/private"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Privacy is a budget of differential privacy; see package private. It protects a task with all of its rows.
type Privacy struct {
	Epsilon   float64 // positive
	Delta     float64 // 0 stands for T^-1.1 for T tasks
	Colluding int     // nodes that may combine their knowledge
}

const (
	// Part of the budget for the sizes of columns. Of the rest a quarter is for the mean of the slopes, and the
	// other part for U.
	partSizes = 0.1
	// Sizes are counted by powers of two from this exponent on; sizes beyond count in the outer ones.
	leastPower, powers = -32, 64
	// A count stands out of the noise when it is above this number of standard deviations.
	sure = 5
	// mostPrivateRank is the largest rank of a private training.
	mostPrivateRank = 20
)

// A privacy is the state of a private training.
type privacy struct {
	*fitter // on the tables of this process: nothing that it adds up leaves the process
	net     *consensus.Network
	list    []Input
	first   []int // of every table: where its tasks begin among all of this process
	budget  *Privacy
	account *private.Account
	tasks   int // of all nodes
}

// Privately trains on the tables of all nodes like [Together], with differential privacy: the mean of the slopes
// and r directions U come from sums with noise, and everything else from the tables of this process. With
// slopes mu and U given, the rest of a target is an intercept and r slopes, whose strengths maximise the
// evidence. Curves and weights of rows are left out; o.Rank is required, since choosing it would cost budget.
func Privately(ctx context.Context, list []Input, net *consensus.Network, o Options, p Privacy) (*Model, *Report, error) {
	if net == nil || len(list) != len(net.Hosted()) || len(list) == 0 {
		return nil, nil, errors.New("mixed: need a network and one table per node of this process")
	}
	if err := p.check(&o, net.Len()); err != nil {
		return nil, nil, &Error{err, "its options cannot be used"}
	}
	for i := range list {
		err := o.check(&list[i])
		if err == nil && list[i].Table.Weights() != nil {
			err = errors.New("private training takes no weights of rows")
		}
		if err != nil {
			return nil, nil, ownFault(inTable(err, i, len(list)))
		}
	}
	before := net.Traffic()
	o.NoCurves, o.CommonNoise, o.Sums = true, true, nil
	in := stacked(list)
	s := &privacy{fitter: &fitter{Options: o, in: &in}, net: net, list: list, budget: &p}
	m, r, err := s.train(ctx)
	if err == nil {
		err = net.Confirm(ctx)
	}
	if err != nil {
		return nil, nil, judge(ctx, net, err)
	}
	r.Traffic = net.Traffic().Minus(before)
	return m, r, nil
}

// check reports the first fault of a budget, or of the options beside it.
func (p *Privacy) check(o *Options, nodes int) error {
	switch {
	case o.Rank == nil:
		return errors.New("private training requires a rank: choosing one by the data would cost budget")
	case *o.Rank < 0 || *o.Rank > mostPrivateRank:
		return fmt.Errorf("the rank is %d: it must be from 0 to %d in private training", *o.Rank, mostPrivateRank)
	case o.LogTarget:
		return errors.New("private training takes no logarithm of the target")
	case p.Colluding >= nodes:
		return fmt.Errorf("%d of %d nodes are to collude: nobody is left to be protected", p.Colluding, nodes)
	}
	_, err := p.account(2)
	return err
}

// account returns the budget of a private training of that number of tasks.
func (p *Privacy) account(tasks int) (*private.Account, error) {
	delta := p.Delta
	if delta == 0 {
		delta = private.DefaultDelta(tasks)
	}
	return private.NewAccount(p.Epsilon, delta, p.Colluding)
}

// train trains, from the number of tasks of all nodes on.
func (s *privacy) train(ctx context.Context) (*Model, *Report, error) {
	rows := make([][]float64, len(s.list))
	at := 0
	for i, in := range s.list {
		n := len(in.Table.Tasks())
		rows[i], s.first = []float64{float64(n)}, append(s.first, at)
		at += n
	}
	if err := s.net.Sum(ctx, rows); err != nil {
		return nil, nil, err
	}
	s.tasks = int(rows[0][0])
	var err error
	if s.account, err = s.budget.account(s.tasks); err != nil {
		return nil, nil, err
	}
	if s.rows, err = newRows(ctx, s.in, &s.Options); err != nil {
		return nil, nil, err
	}
	s.rows.compares = false // of the logarithm
	design, err := s.scale(ctx)
	if err != nil {
		return nil, nil, err
	}
	res, err := private.Run(ctx, s.slopes(&design), s.net,
		private.Options{Rank: *s.Rank, Account: s.account, MeanBound: 1, Workers: s.Workers})
	if err != nil {
		return nil, nil, err
	}
	if s.plain, err = newStats(ctx, s.rows, &design, s.Workers); err != nil {
		return nil, nil, err
	}
	chosen, err := s.choose(ctx, res)
	if err != nil {
		return nil, nil, err
	}
	climbs := s.baselineClimbs()
	if err := climbAll(ctx, climbs...); err != nil {
		return nil, nil, err
	}
	if err := s.takeBaselines(ctx, climbs); err != nil {
		return nil, nil, err
	}
	return s.report(ctx, chosen)
}

// report returns the model and the report of given strengths.
func (s *privacy) report(ctx context.Context, chosen *choice) (*Model, *Report, error) {
	chosen.Chosen, s.freedom = true, max(s.rows.tasks.rows-1, 1)
	r := &Report{Converged: chosen.converged, Candidates: []Candidate{chosen.Candidate}, Owners: s.net.Len(),
		TaskCount: s.tasks, Private: s.account}
	if err := s.score(ctx, r, append([]method{{name: Ours, s: s.plain, m: chosen.m}}, s.baselines...)); err != nil {
		return nil, nil, err
	}
	m, err := s.model(ctx, chosen, chosen.m, nil)
	r.Notes = []string{
		fmt.Sprintf("The rows of a task have differential privacy, epsilon %.3g at delta %.2g; another training "+
			"spends as much again.", s.account.Epsilon(), s.account.Delta()),
		"Errors and strengths are those of the tasks of this process.",
	}
	return m, r, err
}

// scale chooses the scale of every column by a private sum, and returns the design. A task contributes the
// power of two of its standard deviation for every column. Centers are the means of this process: slopes do not
// depend on them.
func (s *privacy) scale(ctx context.Context) (Design, error) {
	r, design := s.rows, s.rows.newDesign()
	columns, tasks := len(r.stats)+1, make([]int, len(s.list))
	for i, in := range s.list {
		tasks[i] = len(in.Table.Tasks())
	}
	values := make([][]float64, len(s.in.Table.Tasks())*columns)
	r.each(func(row int, x []float64, _ float64) {
		for j := range columns {
			v := s.in.Table.Y(row)
			if j < len(x) {
				v = x[j]
			}
			if at := s.in.Table.Task(row)*columns + j; !math.IsNaN(v) {
				values[at] = append(values[at], v)
			}
		}
	})
	vote, rho := 1/math.Sqrt(float64(columns)), partSizes*s.account.Budget()
	votes := func(i, t int, v []float64) {
		for j := range columns {
			if size := stat.PopStdDev(values[(s.first[i]+t)*columns+j], nil); size > 0 {
				v[j*powers+min(max(math.Ilogb(size)-leastPower, 0), powers-1)] = vote
			}
		}
	}
	counts, err := s.account.Sum(ctx, s.net, "sizes of columns", rho, tasks, columns*powers, votes)
	if err != nil {
		return design, err
	}
	names := append(r.schema.Features(), s.TargetColumn)
	for j := range columns {
		sizes := counts.Values[j*powers:][:powers]
		most := floats.MaxIdx(sizes)
		// The totals, and so this error, are the same at all nodes.
		if !(sizes[most] > sure*counts.Deviation) {
			err := fmt.Errorf("%d tasks at epsilon %g do not show the size of column %q: more tasks or a larger "+
				"epsilon are needed", s.tasks, s.budget.Epsilon, names[j])
			return design, &Error{err, err.Error()}
		}
		scale := math.Ldexp(math.Sqrt2, most+leastPower) // the geometric middle
		if j < len(design.Scale) {
			design.Scale[j] = scale
		} else {
			r.raw.Scale = scale
		}
	}
	r.target = r.raw
	return design, nil
}

// slopes returns the tasks of every node for package private: standardised features and targets, less their
// means over the task, which leaves the slopes.
func (s *privacy) slopes(d *Design) (nodes []*kernel.Tasks) {
	r, p, read := s.rows, d.Width(), s.rows.reader()
	for i, in := range s.list {
		var own, samples []int
		for k := range in.Table.Tasks() {
			if n := len(r.of(s.first[i] + k)); n > 0 {
				own, samples = append(own, s.first[i]+k), append(samples, n)
			}
		}
		b := kernel.NewBuilder(p-1, samples, kernel.Float64)
		for t, k := range own {
			list := r.of(k)
			x, y, mean := make([]float64, len(list)*p), make([]float64, len(list)), make([]float64, p)
			r.fill(x, read, d, list)
			r.fillTargets(y, list, false)
			for i := range list {
				floats.AddScaled(mean, 1/float64(len(list)), x[i*p:][:p])
			}
			center := floats.Sum(y) / float64(len(y))
			for i := range list {
				floats.Sub(x[i*p:][:p], mean)
				b.SetRow(t, i, x[i*p+1:][:p-1], y[i]-center)
			}
		}
		nodes = append(nodes, b.Tasks())
	}
	return nodes
}

// choose returns the model of the given mean of the slopes and U. With z = x'U it fits the rest of the target,
//
//	y - x'mean = a_t + z'b_t + noise,
//
// by the evidence of the tables of this process, where the b_t have the mean 0.
func (s *privacy) choose(ctx context.Context, res *private.Result) (*choice, error) {
	p, rank, r := s.plain.p, *s.Rank, s.rows
	rest, x, read := &Data{TaskNames: s.in.Table.Tasks(), Values: make([][]float64, rank)}, make([]float64, p), r.reader()
	for k := range rank {
		rest.Names = append(rest.Names, fmt.Sprint("direction ", k+1))
	}
	for _, i := range r.order {
		s.plain.design.Apply(x, read(int(i)))
		for k := range rank {
			rest.Values[k] = append(rest.Values[k], floats.Dot(res.U.Col(k), x[1:]))
		}
		rest.TaskOf = append(rest.TaskOf, s.in.Table.Task(int(i)))
		rest.Targets = append(rest.Targets, r.standardized(int(i), false)-floats.Dot(res.Mean, x[1:]))
	}
	zero := 0
	f := &fitter{Options: Options{Rank: &zero, NoCurves: true, CommonNoise: true, Workers: s.Workers}, in: &Input{Table: rest}}
	if err := f.read(ctx); err != nil {
		return nil, err
	}
	start := f.plain.start()
	start.tau[0], start.fixed = leastTau, true
	c := f.plain.candidate(0)
	first := c.newClimb(start)
	if err := climbAll(ctx, first); err != nil {
		return nil, err
	}
	c.take(&first.best)
	end, err := c.finish(ctx)
	if err != nil {
		return nil, err
	}
	return s.given(res, f, end), nil
}

// given returns the strengths in the design of this process: from those of the intercept and of the slopes of
// the rest, which f has standardised.
func (s *privacy) given(res *private.Result, f *fitter, end *choice) *choice {
	p, rank, unit := s.plain.p, *s.Rank, f.rows.target.Scale
	prior := &Prior{Deviations: make([]float64, p), Rank: rank, Loadings: make([]float64, p*rank)}
	prior.Deviations[0] = unit * end.m.prior.Deviations[0]
	prior.Noise.Variance = unit * unit * end.q.noise
	m := &moments{prior: prior, mean: append([]float64{f.rows.target.Center + unit*end.m.mean[0]}, res.Mean...), c: make([]float64, p*p)}
	for k := range rank {
		column := prior.Loadings[k*p:][:p]
		size := f.plain.design.Scale[k]
		if size == 0 {
			continue
		}
		copy(column[1:], res.U.Col(k))
		column[0] = -f.plain.design.Center[k]
		floats.Scale(unit*end.m.prior.Deviations[1+k]/size, column)
	}
	spread, tasks, rows := prior.Covariance(), s.rows.tasks.count, s.rows.tasks.rows
	for j := range p { // the noise for privacy, the sample of tasks, and the noise of their rows
		m.c[j*(p+1)] = res.MeanDeviation*res.MeanDeviation + (spread[j*(p+1)]+prior.Noise.Variance*tasks/rows)/float64(s.tasks)
	}
	out := s.plain.candidate(rank)
	out.climbed = climbed{q: &strengths{noise: prior.Noise.Variance}, m: m, converged: end.converged}
	return &out
}

// A stack is several tables of the same columns, one below the other.
type stack struct {
	Table // the first one
	list  []Table
	rows  []int // where every table begins, and the end
	tasks []int // the same of tasks
	names []string
}

// stacked returns the tables of this process as one.
func stacked(list []Input) Input {
	if len(list) == 1 {
		return list[0]
	}
	s, held := &stack{Table: list[0].Table, rows: []int{0}, tasks: []int{0}}, []bool(nil)
	for _, in := range list {
		s.list = append(s.list, in.Table)
		for i := range in.Table.Rows() {
			held = append(held, !in.trains(i))
		}
		s.names = append(s.names, in.Table.Tasks()...)
		s.rows, s.tasks = append(s.rows, len(held)), append(s.tasks, len(s.names))
	}
	return Input{s, held}
}

// of returns the table with a row, and the number of the row there.
func (s *stack) of(row int) (table, own int) {
	for s.rows[table+1] <= row {
		table++
	}
	return table, row - s.rows[table]
}

func (s *stack) Tasks() []string    { return s.names }
func (s *stack) Rows() int          { return s.rows[len(s.list)] }
func (s *stack) Weights() []float64 { return nil }

func (s *stack) Task(row int) int {
	table, own := s.of(row)
	return s.tasks[table] + s.list[table].Task(own)
}

func (s *stack) X(dst []float64, row int) []float64 {
	table, own := s.of(row)
	return s.list[table].X(dst, own)
}

func (s *stack) Y(row int) float64 {
	table, own := s.of(row)
	return s.list[table].Y(own)
}
