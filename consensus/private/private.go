// Package private adds up over the tasks of all nodes with differential privacy, and keeps the account.
//
// What is protected is a task, with all of its rows: two data sets are neighbours if one of them lacks the rows of one task, which
// is still counted. A task adds a vector of length at most 1 to a sum, or nothing, so that the sums of neighbours
// differ by a vector of length at most 1. A total has Gaussian noise of standard deviation sigma in every number, and is
// rho-zero-concentrated private with
//
//	rho = 1 / (2 sigma^2)
//
// (Bun and Steinke, Concentrated differential privacy: simplifications, extensions, and lower bounds, 2016). The rho of several totals add up, and
// anything may be computed from totals. Number and names of tasks are public.
//
// Nobody has the total without noise: every node adds its share of the noise, of variance sigma^2/L, to its own part
// before that is masked. Vectors are rounded towards zero to multiples of a grid, and shares are integers of a discrete Gaussian
// distribution of 2^20 grid units, so that no bit of a total depends on how a computer rounds. The sum of L of them is less than e^-10^12 away
// from one discrete Gaussian (Kairouz, Liu and Steinke, The distributed discrete Gaussian mechanism for federated learning with secure
// aggregation, 2021, theorem 1).
package private

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/noise"
)

// A Total is a sum over all tasks of all nodes, with its noise.
type Total struct {
	Values []float64 // the same bits at all nodes
	// Deviation is the standard deviation of the noise in each of them.
	Deviation float64
	// Clipped is how many tasks of this process would have added a longer vector. Nobody else knows.
	Clipped int
}

// shorter leaves room for what is rounded when a vector is cut to length 1, of up to 2^20 numbers.
const shorter = 1 - 0x1p-30

// Sum spends rho on the sum of n numbers over all tasks. Hosted node i has tasks[i] of them, and vector sets v to what task t of it
// adds: by the rows of that task, what is public and earlier totals alone. A vector that is longer than 1 is cut to that length; one
// that is not finite counts as zero. All nodes must call Sum alike. After an error the budget is spent nevertheless.
func (a *Account) Sum(ctx context.Context, net *consensus.Network, what string, rho float64, tasks []int, n int, vector func(i, t int, v []float64)) (*Total, error) {
	honest := net.Len() - a.colluding
	if honest < 1 {
		return nil, fmt.Errorf("%d of %d nodes are to collude: nobody is left to be protected", a.colluding, net.Len())
	}
	grid := 1 / (noise.Deviation * math.Sqrt(2*rho*float64(honest)))
	total := &Total{Deviation: noise.Deviation * grid * math.Sqrt(float64(net.Len()))}
	for _, k := range tasks {
		if float64(k)/grid > 0x1p52 {
			return nil, fmt.Errorf("%d tasks of a node are too many for an epsilon as large as %v", k, a.epsilon)
		}
	}
	if err := a.spend(Spending{what, rho, n}); err != nil {
		return nil, err
	}
	source, v := noise.New(ctx), make([]float64, n)
	z := make([][]float64, len(tasks))
	for i, k := range tasks {
		// A number that is 1 at all nodes keeps what the sum says of its numbers' size the same whatever these are.
		z[i] = append(make([]float64, n, n+1), 1)
		for t := range k {
			clear(v)
			vector(i, t, v)
			if addTask(z[i], v, grid) {
				total.Clipped++
			}
		}
		for j := range n {
			z[i][j] += float64(source.Gaussian())
		}
	}
	if err := net.SumIntegers(ctx, z); err != nil {
		return nil, err
	}
	if z[0][n] != float64(net.Len()) {
		return nil, fmt.Errorf("a private sum has the parts of %v nodes, want %d", z[0][n], net.Len())
	}
	total.Values = z[0][:n:n]
	for j := range total.Values {
		total.Values[j] *= grid
	}
	noise.Play(ctx, total.Values)
	return total, nil
}

// addTask adds v in grid units to sum, cut to length 1 and rounded towards zero. It reports whether v was longer.
func addTask(sum, v []float64, grid float64) bool {
	largest := 0.0
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 {
		return false
	}
	squares := 0.0
	for _, x := range v {
		squares += x / largest * (x / largest)
	}
	length := largest * math.Sqrt(squares)
	for j, x := range v {
		if length > 1 { // which may be infinite
			x = x / largest / math.Sqrt(squares)
		}
		sum[j] += math.Trunc(x * shorter / grid)
	}
	return length > 1+1e-9
}

// Epsilon returns the least epsilon for which zero-concentrated privacy rho is (epsilon, delta) privacy by Bun and
// Steinke (2016), proposition 1.3: rho + 2 sqrt(rho ln(1/delta)).
func Epsilon(rho, delta float64) float64 {
	return rho + 2*math.Sqrt(rho*math.Log(1/delta))
}

// Rho returns the rho for which Epsilon(rho, delta) is epsilon.
func Rho(epsilon, delta float64) float64 {
	l := math.Log(1 / delta)
	root := epsilon / (math.Sqrt(l+epsilon) + math.Sqrt(l)) // sqrt(l + epsilon) - sqrt(l)
	return root * root
}

// MaxEpsilon is the largest epsilon of an account: beyond it there is nothing left that one could call privacy.
const MaxEpsilon = 1000

// DefaultDelta returns the delta for so many tasks, T^-1.1: well below one in T, so that it is no way to give away
// the rows of a task as a whole.
func DefaultDelta(tasks int) float64 { return math.Pow(math.Max(float64(tasks), 2), -1.1) }

// An Account is a budget of privacy and what was spent of it.
type Account struct {
	epsilon, delta float64
	colluding      int
	spent          []Spending
}

// A Spending is the part of a budget that one sum took.
type Spending struct {
	What    string
	Rho     float64
	Numbers int // in the total
}

// NewAccount returns a budget of epsilon and delta that holds even against so many nodes that put together what they know, their own
// noise among it; 0 is for whoever takes no part.
func NewAccount(epsilon, delta float64, colluding int) (*Account, error) {
	switch {
	case !(epsilon > 0 && epsilon <= MaxEpsilon):
		return nil, fmt.Errorf("epsilon is %v: must be above 0 and at most %d", epsilon, MaxEpsilon)
	case !(delta > 0 && delta < 1):
		return nil, fmt.Errorf("delta is %v: must be above 0 and below 1", delta)
	case colluding < 0:
		return nil, fmt.Errorf("the number of colluding nodes is %d: must not be negative", colluding)
	}
	return &Account{epsilon: epsilon, delta: delta, colluding: colluding}, nil
}

// Delta returns the delta of the budget, Budget its rho, and Left the part of rho that was not spent.
func (a *Account) Delta() float64  { return a.delta }
func (a *Account) Budget() float64 { return Rho(a.epsilon, a.delta) }
func (a *Account) Left() float64   { return a.Budget() - a.Rho() }

// Spent returns what was spent, in order.
func (a *Account) Spent() []Spending { return append([]Spending(nil), a.spent...) }

// Rho returns the rho that was spent, and Epsilon the epsilon that it gives with the delta of the budget.
func (a *Account) Rho() (rho float64) {
	for _, s := range a.spent {
		rho += s.Rho
	}
	return rho
}

func (a *Account) Epsilon() float64 { return Epsilon(a.Rho(), a.delta) }

// Against returns the epsilon of what was spent against so many of the nodes, who know their own shares of the noise: of
// variance sigma^2 of a total (L-k)/L is left, and rho is L/(L-k) times as much, for an account that counts on none.
// It is infinite if nobody else has made noise.
func (a *Account) Against(colluding, nodes int) float64 {
	if colluding >= nodes {
		return math.Inf(1)
	}
	return Epsilon(a.Rho()*float64(nodes-a.colluding)/float64(nodes-colluding), a.delta)
}

// String returns all that the nodes must have alike.
func (a *Account) String() string {
	return fmt.Sprintf("rho %.9g of %.9g spent at delta %.9g, against %d that collude", a.Rho(), a.Budget(), a.delta, a.colluding)
}

// spend takes a part of the budget.
func (a *Account) spend(s Spending) error {
	const rounding = 1 + 1e-9
	if !(s.Rho > 0) || a.Rho()+s.Rho > a.Budget()*rounding {
		return fmt.Errorf("%w: %s would take rho = %.4g, and %.4g of %.4g is left", ErrSpent, s.What, s.Rho, a.Budget()-a.Rho(), a.Budget())
	}
	a.spent = append(a.spent, s)
	return nil
}

// ErrSpent says that a budget does not suffice.
var ErrSpent = errors.New("the privacy budget does not suffice")
