package difalt

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/private"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// Privacy says how RunPrivate protects tasks.
type Privacy struct {
	// Rank of the representation, by what is known before.
	Rank int
	// Epsilon and Delta are the budget; Delta is T^-1.1 of T tasks if it is 0.
	Epsilon, Delta float64
	// Colluding is how many nodes may put together what they know, their own shares of the noise among it, so that Epsilon still
	// holds against them: with 0 it is against whoever takes no part.
	Colluding int
	// Workers is as in Options.
	Workers int
}

// A PrivateResult is the outcome of RunPrivate. U, Spectrum and Account may be published: they have (epsilon, delta) privacy, whatever is
// computed from them. B may not.
type PrivateResult struct {
	// U is d x r and orthonormal, the same bits at all nodes.
	U *kernel.Basis
	// Spectrum has the r largest eigenvalues, and then the mean of the others, of the matrix that was told, over the number of tasks.
	// Eigenvalues below the last but for NoiseEdge are no better than noise.
	Spectrum []float64
	// NoiseEdge is about the largest eigenvalue that the noise would have by itself, over the number of tasks.
	NoiseEdge float64
	// B[i] holds the coefficients of the tasks of node Hosted()[i], b_t = B[i][t*r : (t+1)*r], by their own rows. They were told to nobody.
	B [][]float64
	// Tasks is T, of all nodes. Silent counts the tasks of this process that had nothing to add, for want of rows or of any
	// relation between X and y; nobody else knows.
	Tasks, Silent int
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
// matrix, which is all that is told. Then every node fits its own b_t, with a ridge for their spread in each direction by Spectrum and for its strength by the
// likelihood of the node's own tasks.
//
// It neither scales features nor takes means away: features should be of about one size, by what is publicly known of them, and a mean of the theta_t
// that is not zero is a direction of U. Start, U0, Moments and Truth of the problem must be nil. All nodes must call it alike. After an error the budget counts as spent,
// unless it is called again on the same Network, which goes on where the error was.
func RunPrivate(ctx context.Context, p *Problem, net *consensus.Network, o Privacy) (*PrivateResult, error) {
	if p == nil || net == nil {
		return nil, errNoProblem
	}
	if err := kernel.Err(); err != nil {
		return nil, fmt.Errorf("difalt: %w", err)
	}
	hosted := net.Hosted()
	if err := p.validate(hosted, &Options{Rank: o.Rank}); err != nil {
		return nil, err
	}
	if p.U0 != nil || p.Start != nil || p.Moments != nil || p.Truth != nil {
		return nil, errors.New("difalt: RunPrivate takes no U0, Start, Moments or Truth: they may be made of data")
	}
	if o.Rank < 1 {
		return nil, &ParameterError{"Rank", o.Rank, "must be at least 1: choosing it by the data would cost budget"}
	}
	net.Rewind()
	tasks, err := o.compare(ctx, p, net)
	if err != nil {
		return nil, err
	}
	if o.Delta == 0 {
		o.Delta = private.DefaultDelta(tasks)
	}
	account, err := private.NewAccount(o.Epsilon, o.Delta, o.Colluding)
	if err != nil {
		return nil, fmt.Errorf("difalt: %w", err)
	}
	pool := kernel.NewPool(o.Workers)
	defer pool.Close()
	directions := make([][][]float64, len(hosted)) // by hosted node and task; nil if there is none
	counts := make([]int, len(hosted))
	for i, k := range p.Nodes {
		directions[i], counts[i] = make([][]float64, k.Len()), k.Len()
		pool.Run(func(w int) {
			for t := w; t < k.Len(); t += pool.Workers() {
				directions[i][t] = direction(k, t)
			}
		})
	}
	d := p.Nodes[0].Features()
	total, err := account.Sum(ctx, net, "the directions of tasks, c c'", account.Budget(), counts, d*(d+1)/2, func(i, t int, v []float64) {
		packOuter(v, directions[i][t])
	})
	if err != nil {
		return nil, fmt.Errorf("difalt: %w", err)
	}
	net.Commit()
	res := &PrivateResult{Tasks: tasks, Account: account, B: make([][]float64, len(hosted))}
	for _, list := range directions {
		for _, c := range list {
			if c == nil {
				res.Silent++
			}
		}
	}
	if err := res.read(total, d, o.Rank); err != nil {
		return nil, err
	}
	pool.Run(func(w int) {
		for i := w; i < len(hosted); i += pool.Workers() {
			res.B[i] = fitOwn(p.Nodes[i], res.loadings())
		}
	})
	return res, nil
}

// compare lets the nodes find out whether they want the same, and how many tasks they have. Nothing of it depends on rows.
func (o Privacy) compare(ctx context.Context, p *Problem, net *consensus.Network) (tasks int, err error) {
	settings := []wire.Setting{
		{Name: "Rank", Value: fmt.Sprint(o.Rank)}, {Name: "Epsilon", Value: fmt.Sprint(o.Epsilon)}, {Name: "Delta", Value: fmt.Sprint(o.Delta)},
		{Name: "Colluding", Value: fmt.Sprint(o.Colluding)}, {Name: "the number of features", Value: fmt.Sprint(p.Nodes[0].Features())},
		{Name: "the fingerprint of the mixing weights", Value: fmt.Sprintf("%016x", net.Weights().Fingerprint())},
	}
	delta := o.Delta
	if delta == 0 { // it will follow from the number of tasks
		delta = private.DefaultDelta(2)
	}
	if _, err := private.NewAccount(o.Epsilon, delta, o.Colluding); err != nil {
		return 0, fmt.Errorf("difalt: %w", err)
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
		return errors.New("difalt: the eigenvectors of the private sum cannot be found")
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
