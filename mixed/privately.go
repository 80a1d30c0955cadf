package mixed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/private"
	"gonum.org/v1/gonum/floats"
)

// Privacy is a budget of differential privacy; see package private. It protects a task with all of its rows.
type Privacy struct {
	Epsilon   float64 // positive
	Delta     float64 // 0 stands for T^-1.1 for T tasks
	Colluding int     // nodes that may combine their knowledge
}

const (
	// Part of the budget for the sizes of columns. A quarter of the remainder is for the mean of the
	// slopes, and three quarters are for U.
	partSizes = 0.1
	// Sizes are counted by powers of two from this exponent on; sizes beyond count in the outer ones.
	leastPower, powers = -32, 64
	// A count stands out of the noise when it is above this number of standard deviations.
	sure = 5
	// never is a number of standard deviations beyond which no noise is.
	never = 40
	// mostTasks bounds the tasks of all nodes, and mostPrivate the numbers of a table. farScales bounds
	// the distance of a number from the median of this process, in scales.
	mostTasks, mostPrivate, farScales = 1 << 31, 1e100, 1e4
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

// Privately trains on the tables of all nodes like [Together], with differential privacy: the mean of the
// slopes and r directions U come from sums with noise, and everything else from the tables of this process.
// Where mu and U are given, what they leave of a target is an intercept and r slopes, whose strengths
// maximise the evidence. Curves and weights of rows are left out; o.Rank is required, since choosing it would
// cost budget.
func Privately(
	ctx context.Context, list []Input, net *consensus.Network, o Options, p Privacy,
) (*Model, *Report, error) {
	if err := checkTables(ctx, list, net); err != nil {
		return nil, nil, err
	}
	if err := Check(list, o, &p, net.Len()); err != nil {
		return nil, nil, err
	}
	list = slices.Clone(list)
	for i := range list {
		list[i] = list[i].bounded()
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
		err = classify(ctx, net, err)
		if s.account != nil {
			err = s.account.Ended(err)
		}
		return nil, nil, err
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
		return &RankError{*o.Rank, mostPrivateRank, "in private training"}
	case o.Refit:
		return errors.New("private training fits once: another fit to all rows would cost budget")
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
	// Others may have more tasks, and have one at least.
	all, least := rows[0][0], float64(at+s.net.Len()-len(s.list))
	if !(all >= least && all <= mostTasks && all == math.Trunc(all)) {
		return nil, nil, contradiction(fmt.Sprintf("all nodes have %v tasks, and at least %v exist", all, least))
	}
	s.tasks = int(rows[0][0])
	s.track = newTracker(&s.Options) // sums over the tasks of this process are not totals, and not counted
	s.track.stage(PrivateStages[0], 0, 0)
	var err error
	if s.account, err = s.budget.account(s.tasks); err != nil {
		return nil, nil, err
	}
	if s.rows, err = newRows(ctx, s.in, &s.Options); err != nil {
		return nil, nil, err
	}
	scales, err := s.scales(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.track.stage(PrivateStages[1], 0, 0)
	res, err := private.Run(ctx, s.slopes(scales), s.net,
		private.Options{Rank: *s.Rank, Account: s.account, MeanBound: 1, Workers: s.Workers})
	if err != nil {
		return nil, nil, err
	}
	design, err := s.within(ctx, scales)
	if err != nil {
		return nil, nil, err
	}
	if s.plain, err = newStats(ctx, s.rows, &design, s.Workers); err != nil {
		return nil, nil, err
	}
	s.track.stage(PrivateStages[2], 0, 0)
	chosen, err := s.choose(ctx, res)
	if err != nil {
		return nil, nil, err
	}
	optimisers := s.baselineOptimisers()
	if err := optimiseAll(ctx, optimisers...); err != nil {
		return nil, nil, err
	}
	if err := s.takeBaselines(ctx, optimisers); err != nil {
		return nil, nil, err
	}
	return s.report(ctx, chosen)
}

// report returns the model and the report of given variance components.
func (s *privacy) report(ctx context.Context, chosen *choice) (*Model, *Report, error) {
	chosen.Chosen, s.freedom = true, max(s.rows.tasks.rows-1, 1)
	r := &Report{Converged: chosen.converged, Candidates: []Candidate{chosen.Candidate}, Owners: s.net.Len(),
		TaskCount: s.tasks, Private: s.account}
	s.track.stage(Stages[4], 0, 0)
	if err := s.score(ctx, r, chosen); err != nil {
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

// scales chooses the scale of every column, and last of the target, by a private sum. A task contributes the
// power of two of its standard deviation for every column.
func (s *privacy) scales(ctx context.Context) ([]float64, error) {
	r := s.rows
	columns, tasks := len(r.stats)+1, make([]int, len(s.list))
	for i, in := range s.list {
		tasks[i] = len(in.Table.Tasks())
	}
	values := make([][]float64, len(s.in.Table.Tasks())*columns)
	err := r.each(ctx, func(row int, x []float64, _ float64) {
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
	if err != nil {
		return nil, err
	}
	vote, rho := 1/math.Sqrt(float64(columns)), partSizes*s.account.Budget()
	votes := func(i, t int, v []float64) {
		for j := range columns {
			if size := rounded.Deviation(values[(s.first[i]+t)*columns+j]); size > 0 {
				v[j*powers+min(max(math.Ilogb(size)-leastPower, 0), powers-1)] = vote
			}
		}
	}
	counts, err := s.account.Sum(ctx, s.net, "sizes of columns", rho, tasks, columns*powers, votes)
	if err != nil {
		return nil, err
	}
	most := float64(vote*float64(s.tasks)) + float64(never*counts.Deviation)
	names, scales := append(r.schema.Features(), s.TargetColumn), make([]float64, columns)
	for j := range columns {
		sizes := counts.Values[j*powers:][:powers]
		if slices.Max(sizes) > most || slices.Min(sizes) < -never*counts.Deviation {
			return nil, contradiction(fmt.Sprintf("the sizes of column %q", names[j]))
		}
		power := floats.MaxIdx(sizes)
		if !(sizes[power] > sure*counts.Deviation) {
			return nil, fmt.Errorf("%d tasks at epsilon %g do not show the size of column %q: more tasks or a larger "+
				"epsilon are needed", s.tasks, s.budget.Epsilon, names[j])
		}
		scales[j] = math.Ldexp(math.Sqrt2, power+leastPower) // the geometric middle
	}
	return scales, nil
}

// slopes returns the tasks of every node for package private: features and targets, less their means over the
// task, in units of the scales. A missing value counts as the mean. So the numbers of a task depend on its
// rows, on public facts and on totals, and on nothing of other tasks.
func (s *privacy) slopes(scales []float64) (nodes []*kernel.Tasks) {
	r, columns, read := s.rows, len(scales), s.rows.reader()
	for i, in := range s.list {
		var own, samples []int
		for k := range in.Table.Tasks() {
			if n := len(r.of(s.first[i] + k)); n > 0 {
				own, samples = append(own, s.first[i]+k), append(samples, n)
			}
		}
		b := kernel.NewBuilder(columns-1, samples, kernel.Float64)
		for t, k := range own {
			list := r.of(k)
			z := make([]float64, len(list)*columns)
			for i, at := range list {
				row := z[i*columns:][:columns]
				copy(row, read(int(at)))
				row[columns-1] = s.in.Table.Y(int(at))
			}
			for j, scale := range scales {
				centre(z[j:], columns, scale)
			}
			for i := range list {
				row := z[i*columns:][:columns]
				b.SetRow(t, i, row[:columns-1], row[columns-1])
			}
		}
		nodes = append(nodes, b.Tasks())
	}
	return nodes
}

// centre subtracts the mean from every stride-th number of v, and divides by the scale; missing ones become
// 0.
func centre(v []float64, stride int, scale float64) {
	sum, n := 0.0, 0.0
	for i := 0; i < len(v); i += stride {
		if !math.IsNaN(v[i]) {
			sum, n = sum+v[i], n+1
		}
	}
	for i := 0; i < len(v); i += stride {
		if v[i] = (v[i] - sum/n) / scale; math.IsNaN(v[i]) {
			v[i] = 0
		}
	}
}

// within clips the values of this process to some scales around their medians, reads the rows again, and
// returns the design: nothing of that is sent. A task with huge numbers would otherwise end the training, and
// so show that it is there.
func (s *privacy) within(ctx context.Context, scales []float64) (Design, error) {
	columns := len(scales)
	values := make([][]float64, columns)
	err := s.rows.each(ctx, func(row int, x []float64, _ float64) {
		for j, v := range x {
			if !math.IsNaN(v) {
				values[j] = append(values[j], v)
			}
		}
		values[columns-1] = append(values[columns-1], s.in.Table.Y(row))
	})
	if err != nil {
		return Design{}, err
	}
	bounds := make([][2]float64, columns)
	for j, list := range values {
		middle := 0.0
		if slices.Sort(list); len(list) > 0 {
			middle = list[len(list)/2]
		}
		bounds[j] = [2]float64{middle - float64(farScales*scales[j]), middle + float64(farScales*scales[j])}
	}
	in := *s.in
	in.Table = &bounded{Table: in.Table, features: bounds[:columns-1], target: bounds[columns-1]}
	s.in = &in
	if s.rows, err = newRows(ctx, s.in, &s.Options); err != nil {
		return Design{}, err
	}
	s.rows.compares = false // of the logarithm
	design := s.rows.newDesign()
	copy(design.Scale, scales)
	s.rows.raw.Scale = scales[columns-1]
	s.rows.target = s.rows.raw
	return design, nil
}

// A bounded table is a table whose numbers are clipped: without bounds, to mostPrivate in size.
type bounded struct {
	Table
	features [][2]float64 // nil for no bounds
	target   [2]float64
}

// bounded returns the input of a private training.
func (in Input) bounded() Input {
	if in.Table != nil {
		in.Table = &bounded{Table: in.Table}
	}
	return in
}

// Check reports the faults that the table itself finds.
func (b *bounded) Check() error {
	if own, ok := b.Table.(interface{ Check() error }); ok {
		return own.Check()
	}
	return nil
}

// X implements Table.
func (b *bounded) X(dst []float64, row int) []float64 {
	dst = b.Table.X(dst, row)
	for j, v := range dst {
		if b.features == nil {
			dst[j] = clipTo(v, -mostPrivate, mostPrivate)
		} else {
			dst[j] = clipTo(v, b.features[j][0], b.features[j][1])
		}
	}
	return dst
}

// Y implements Table.
func (b *bounded) Y(row int) float64 {
	if b.features == nil {
		return clipTo(b.Table.Y(row), -mostPrivate, mostPrivate)
	}
	return clipTo(b.Table.Y(row), b.target[0], b.target[1])
}

// clipTo returns v within bounds. NaN and infinities stay.
func clipTo(v, least, most float64) float64 {
	if math.IsInf(v, 0) {
		return v
	}
	return max(least, min(v, most))
}
