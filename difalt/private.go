package difalt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/private"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Privacy says how RunPrivate protects tasks.
type Privacy struct {
	// Rank of the representation, by what is known before; 0 if a mean is all that is wanted.
	Rank int
	// Epsilon and Delta are the budget; Delta is T^-1.1 of T tasks if it is 0.
	Epsilon, Delta float64
	// Account, if it is not nil, is the budget in place of Epsilon, Delta and Colluding: all that is left of it is spent.
	Account *private.Account
	// Colluding is how many nodes may put together what they know, their own shares of the noise among it, so that Epsilon still
	// holds against them: with 0 it is against whoever takes no part.
	Colluding int
	// MeanBound is a length, by what is known before, that most theta_t do not exceed: then the mean of the theta_t, those that are longer cut to it, is told
	// too, for a quarter of the budget, and the representation is that of what tasks differ by. 0 is for theta_t without a mean.
	MeanBound float64
	// Workers is as in Options.
	Workers int
}

// A PrivateResult is the outcome of RunPrivate. Mean, U, Spectrum and Account may be published: they have (epsilon, delta) privacy, whatever is
// computed from them. B may not.
type PrivateResult struct {
	// Mean of the theta_t, d, and about the standard deviation of the noise in each entry; nil if none was asked for.
	Mean          []float64
	MeanDeviation float64
	// U is d x r and orthonormal, the same bits at all nodes; nil if r is 0.
	U *kernel.Basis
	// Spectrum has the r largest eigenvalues, and then the mean of the others, of the matrix that was told, over the number of tasks.
	// Eigenvalues below the last but for NoiseEdge are no better than noise.
	Spectrum []float64
	// NoiseEdge is about the largest eigenvalue that the noise would have by itself, over the number of tasks.
	NoiseEdge float64
	// B[i] holds the coefficients of the tasks of node Hosted()[i], theta_t = Mean + U b_t with b_t = B[i][t*r : (t+1)*r], by their own rows. They
	// were told to nobody.
	B [][]float64
	// Tasks is T, of all nodes. Silent counts the tasks of this process that had no direction to add, for want of rows or of any
	// relation between X and y, and Clipped those whose theta_t was longer than MeanBound; nobody else knows.
	Tasks, Silent, Clipped int
	// Account says what was spent, and what is left against nodes that collude.
	Account *private.Account
}

// RunPrivate finds the representation of all tasks with differential privacy. What is protected is a task, with all of its
// rows: whether these are there makes little difference to what anybody learns, whatever they are (docs/privacy.md). The number of tasks is public.
//
// Every node makes of each of its tasks the direction of its coefficients, c_t = theta_t / |theta_t| with
//
//	theta_t = (X_t'X_t + ridge_t I)^-1 X_t'y_t,
//
// and ridge_t by the likelihood of the task itself. The nodes add up c_t c_t', all of length 1, with noise of which each makes a share:
// so a sum has a known sensitivity without clips that depend on data. U is spanned by the r leading eigenvectors of that one
// matrix, which is all that is told but for a mean. Then every node fits its own b_t, with a ridge for their spread in each direction by Spectrum and for its strength by the
// likelihood of the node's own tasks.
//
// It neither scales features nor takes intercepts away: features should be of about one size, by what is publicly known of them, and a mean of the theta_t
// that is not zero, unless MeanBound is set, is a direction of U. Start, U0, Moments and Truth of the problem must be nil. All nodes must call it alike. After an error the
// budget counts as spent, unless it is called again on the same Network, with an Account as it was, which goes on where the error was.
func RunPrivate(ctx context.Context, p *Problem, net *consensus.Network, o Privacy) (*PrivateResult, error) {
	if p == nil || net == nil {
		return nil, errNoProblem
	}
	if err := kernel.Err(); err != nil {
		return nil, fmt.Errorf("difalt: %w", err)
	}
	if err := o.validate(p, net.Hosted()); err != nil {
		return nil, err
	}
	net.Rewind()
	tasks, err := o.compare(ctx, p, net)
	if err != nil {
		return nil, err
	}
	pool := kernel.NewPool(o.Workers)
	defer pool.Close()
	s := &privateRun{net: net, pool: pool, nodes: slices.Clone(p.Nodes), res: &PrivateResult{Tasks: tasks, Account: o.Account}}
	if err := s.run(ctx, &o); err != nil {
		return nil, fmt.Errorf("difalt: %w", err)
	}
	net.Commit()
	return s.res, nil
}

func (s *privateRun) run(ctx context.Context, o *Privacy) (err error) {
	if s.res.Account == nil {
		if s.res.Account, err = private.NewAccount(o.Epsilon, o.delta(s.res.Tasks), o.Colluding); err != nil {
			return err
		}
	}
	if o.MeanBound > 0 {
		if err := s.findMean(ctx, o); err != nil {
			return err
		}
	}
	if o.Rank > 0 {
		return s.findBasis(ctx, o.Rank)
	}
	return nil
}

// validate checks what a process can check by itself.
func (o *Privacy) validate(p *Problem, hosted []int) error {
	if err := p.validate(hosted, &Options{Rank: o.Rank}); err != nil {
		return err
	}
	switch {
	case p.U0 != nil || p.Start != nil || p.Moments != nil || p.Truth != nil:
		return errors.New("difalt: RunPrivate takes no U0, Start, Moments or Truth: they may be made of data")
	case !(o.MeanBound >= 0) || math.IsInf(o.MeanBound, 0):
		return &ParameterError{"MeanBound", o.MeanBound, "must be finite, and not negative"}
	case o.Rank < 0 || o.Rank == 0 && o.MeanBound == 0:
		return &ParameterError{"Rank", o.Rank, "must be at least 1: choosing it by the data would cost budget"}
	case o.Account != nil && (o.Epsilon != 0 || o.Delta != 0 || o.Colluding != 0):
		return &ParameterError{"Account", "given", "Epsilon, Delta and Colluding are its own"}
	case o.Account != nil:
		return nil
	}
	if _, err := private.NewAccount(o.Epsilon, o.delta(1), o.Colluding); err != nil {
		return fmt.Errorf("difalt: %w", err)
	}
	return nil
}

// delta returns Delta for so many tasks.
func (o *Privacy) delta(tasks int) float64 {
	if o.Delta == 0 {
		return private.DefaultDelta(tasks)
	}
	return o.Delta
}

// A privateRun is RunPrivate at work.
type privateRun struct {
	net   *consensus.Network
	pool  *kernel.Pool
	nodes []*kernel.Tasks
	res   *PrivateResult
}

// eachTask calls f for every task of the hosted nodes, and returns what it returns, by hosted node and task.
func (s *privateRun) eachTask(f func(k *kernel.Tasks, t int) []float64) (out [][][]float64, tasks []int) {
	for _, k := range s.nodes {
		list := make([][]float64, k.Len())
		s.pool.Run(func(w int) {
			for t := w; t < k.Len(); t += s.pool.Workers() {
				list[t] = f(k, t)
			}
		})
		out, tasks = append(out, list), append(tasks, k.Len())
	}
	return out, tasks
}

// meanPasses is how often the mean is looked for: each pass finds most of what the ridges of the one before have held back.
const meanPasses = 2

// findMean tells the mean of the coefficients, and takes it away.
func (s *privateRun) findMean(ctx context.Context, o *Privacy) error {
	d, account := s.nodes[0].Features(), s.res.Account
	rho := account.Left() / meanPasses
	if o.Rank > 0 {
		rho /= 4
	}
	s.res.Mean = make([]float64, d)
	for range meanPasses {
		thetas, tasks := s.eachTask(estimate)
		total, err := account.Sum(ctx, s.net, "the mean of the coefficients", rho, tasks, d, func(i, t int, v []float64) {
			for j, x := range thetas[i][t] {
				v[j] = x / o.MeanBound
			}
		})
		if err != nil {
			return err
		}
		unit := o.MeanBound / float64(s.res.Tasks)
		floats.Scale(unit, total.Values)
		floats.Add(s.res.Mean, total.Values)
		s.res.MeanDeviation, s.res.Clipped = unit*total.Deviation, max(s.res.Clipped, total.Clipped)
		for i, k := range s.nodes {
			s.nodes[i] = without(k, total.Values)
		}
	}
	return nil
}

// findBasis tells the directions of the coefficients, and fits those of the hosted nodes.
func (s *privateRun) findBasis(ctx context.Context, r int) error {
	d, account := s.nodes[0].Features(), s.res.Account
	directions, tasks := s.eachTask(direction)
	total, err := account.Sum(ctx, s.net, "the directions of the coefficients", account.Left(), tasks, d*(d+1)/2, func(i, t int, v []float64) {
		packOuter(v, directions[i][t])
	})
	if err != nil {
		return err
	}
	for _, list := range directions {
		for _, c := range list {
			if c == nil {
				s.res.Silent++
			}
		}
	}
	if err := s.res.read(total, d, r); err != nil {
		return err
	}
	s.res.B = make([][]float64, len(s.nodes))
	loadings := s.res.Loadings()
	s.pool.Run(func(w int) {
		for i := w; i < len(s.nodes); i += s.pool.Workers() {
			s.res.B[i] = fitOwn(s.nodes[i], loadings)
		}
	})
	return nil
}

// compare lets the nodes find out whether they want the same, and how many tasks they have. Nothing of it depends on rows.
func (o *Privacy) compare(ctx context.Context, p *Problem, net *consensus.Network) (tasks int, err error) {
	settings := append(appendSettings(nil, "", reflect.ValueOf(*o)), networkSettings(p, net)...)
	if a := o.Account; a != nil {
		settings = append(settings, wire.Setting{Name: "Account", Value: a.String()})
	}
	own := digits(settings)
	rows := make([][]float64, len(p.Nodes))
	for i, k := range p.Nodes {
		rows[i] = append(append([]float64{1}, own...), float64(k.Len()))
	}
	if err := net.SumIntegers(ctx, rows); err != nil {
		return 0, err
	}
	if n := len(own) + 1; alike(rows[0][1:n], net.Len()) {
		return int(rows[0][n]), nil
	}
	return 0, nameDifference(ctx, net, settings)
}

// packOuter sets v to c c' by its upper triangle, in which what stands for two entries counts sqrt 2 times: of the length |c|^2.
func packOuter(v, c []float64) {
	at := 0
	for i, x := range c {
		v[at] = x * x
		for j, y := range c[i+1:] {
			v[at+1+j] = math.Sqrt2 * x * y
		}
		at += len(c) - i
	}
}

// read sets U and what is known about it by the total.
func (res *PrivateResult) read(total *private.Total, d, r int) error {
	m, at := mat.NewSymDense(d, nil), 0
	for i := range d {
		for j := i; j < d; j++ {
			v := total.Values[at]
			if j > i {
				v /= math.Sqrt2
			}
			m.SetSym(i, j, v)
			at++
		}
	}
	var e mat.EigenSym
	if !e.Factorize(m, true) {
		return errors.New("the eigenvectors of the private sum cannot be found")
	}
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	values := e.Values(nil)
	res.U = kernel.NewBasis(d, r)
	tasks := float64(res.Tasks)
	for j := range r {
		mat.Col(res.U.Col(j)[:d], d-1-j, &vectors)
		res.Spectrum = append(res.Spectrum, values[d-1-j]/tasks)
	}
	rest := 0.0
	for _, v := range values[:d-r] {
		rest += v / tasks / float64(d-r)
	}
	res.Spectrum = append(res.Spectrum, rest)
	// A symmetric matrix whose entries off the diagonal have the variance s^2 has eigenvalues up to 2 s sqrt(d) (Wigner's
	// semicircle).
	res.NoiseEdge = 2 * total.Deviation / math.Sqrt2 * math.Sqrt(float64(d)) / tasks
	return nil
}
