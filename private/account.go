package private

import (
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/internal/noise"
)

// Budgets have at most these values. A larger epsilon protects nothing, and with a probability of delta
// nothing is promised.
const MostEpsilon, MostDelta = 1000, 0.1

// DefaultDelta returns T^-1.1 for T tasks, and 0.01 for fewer than 66. It is below 1/T, so that publishing
// the rows of one random task does not satisfy the definition. A node that takes T from a sum over all nodes
// first checks that T is at least the number of its tasks, since a node may understate its number.
func DefaultDelta(tasks int) float64 {
	const most = 0.01
	return min(math.Pow(math.Max(float64(tasks), 1), -1.1), most)
}

// An Account is a privacy budget and a list of its spendings.
type Account struct {
	epsilon, delta float64
	budget         float64 // rho
	colluding      int
	spent          []Spending
	noise          func() int64 // draws a share; tests replace it
}

// A Spending is the part of a budget that one sum took.
type Spending struct {
	What    string
	Rho     float64
	Numbers int // in the total
}

// NewAccount returns a budget of epsilon and delta. It holds against that number of colluding nodes, which
// combine their knowledge, including their shares of the noise; 0 is for readers who take no part in the
// network.
func NewAccount(epsilon, delta float64, colluding int) (*Account, error) {
	switch {
	case !(epsilon > 0 && epsilon <= MostEpsilon):
		return nil, fmt.Errorf("private: epsilon is %v: must be above 0 and at most %v", epsilon, MostEpsilon)
	case !(delta > 0 && delta <= MostDelta):
		return nil, fmt.Errorf("private: delta is %v: must be above 0 and at most %v", delta, MostDelta)
	case colluding < 0:
		return nil, fmt.Errorf("private: the number of colluding nodes is %d: must not be negative", colluding)
	}
	return &Account{
		epsilon: epsilon, delta: delta, budget: Rho(epsilon, delta), colluding: colluding, noise: noise.New().Gaussian,
	}, nil
}

// Delta returns the delta of the budget.
func (a *Account) Delta() float64 { return a.delta }

// Budget returns the rho of the budget.
func (a *Account) Budget() float64 { return a.budget }

// Left returns the rho that is not spent.
func (a *Account) Left() float64 { return a.Budget() - a.Rho() }

// Spent returns a copy of the list, in the order of the sums.
func (a *Account) Spent() []Spending { return append([]Spending(nil), a.spent...) }

// Rho returns the rho that was spent.
func (a *Account) Rho() (rho float64) {
	for _, s := range a.spent {
		rho += s.Rho
	}
	return rho
}

// Epsilon returns the epsilon that was spent, at the delta of the budget.
func (a *Account) Epsilon() float64 { return Epsilon(a.Rho(), a.delta) }

// Against returns the epsilon that was spent against that number of colluding nodes, which know their own
// shares of the noise; infinite if no other node has added noise, and NaN for negative numbers. They leave
// the part (L-k)/L of the variance of a total, so that rho is L/(L-k) times as large, relative to an account
// for no colluding nodes.
func (a *Account) Against(colluding, nodes int) float64 {
	switch {
	case colluding < 0 || nodes < 1:
		return math.NaN()
	case colluding >= nodes:
		return math.Inf(1)
	}
	return Epsilon(a.Rho()*float64(nodes-a.colluding)/float64(nodes-colluding), a.delta)
}

// String returns the budget and all that is spent of it, which are equal at all nodes.
func (a *Account) String() string {
	const format = "rho %.9g of %.9g spent at delta %.9g, against %d colluding nodes"
	return fmt.Sprintf(format, a.Rho(), a.Budget(), a.delta, a.colluding)
}

// spend takes a part of the budget.
func (a *Account) spend(s Spending) error {
	const rounding = 1 + 1e-9
	if !(s.Rho > 0) || a.Rho()+s.Rho > a.Budget()*rounding {
		const format = "%w: %s would take rho = %.4g, and %.4g of %.4g is left"
		return fmt.Errorf(format, ErrSpent, s.What, s.Rho, a.Left(), a.Budget())
	}
	a.spent = append(a.spent, s)
	return nil
}

// ErrSpent is returned by Account.Sum if the budget does not suffice.
var ErrSpent = errors.New("private: the privacy budget does not suffice")

// A SpentError is an error after a sum has taken a part of a budget: its totals may be known to other nodes,
// so the budget counts as spent.
type SpentError struct {
	Err            error
	Epsilon, Delta float64 // that count as spent
}

func (e *SpentError) Error() string { return e.Err.Error() + "; " + e.Aftermath() }

// Unwrap returns Err.
func (e *SpentError) Unwrap() error { return e.Err }

// Aftermath returns the part of the text that is about the budget.
func (e *SpentError) Aftermath() string {
	const format = "the privacy budget counts as spent, epsilon %.3g at delta %.2g: " +
		"another training spends as much again"
	return fmt.Sprintf(format, e.Epsilon, e.Delta)
}

// Ended returns err as a *SpentError if a part of the budget was spent, and otherwise err itself.
func (a *Account) Ended(err error) error {
	before := new(SpentError)
	if err == nil || a.Rho() == 0 || errors.As(err, &before) {
		return err
	}
	return &SpentError{err, a.Epsilon(), a.delta}
}
