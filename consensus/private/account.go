package private

import (
	"errors"
	"fmt"
	"math"
)

// Epsilon returns the least epsilon for which zero-concentrated privacy rho is (epsilon, delta) privacy by Bun and
// Steinke (2016), proposition 1.3: rho + 2 sqrt(rho ln(1/delta)).
func Epsilon(rho, delta float64) float64 {
	return rho + 2*math.Sqrt(rho*math.Log(1/delta))
}

// Rho returns the rho for which that is epsilon.
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
	Numbers int // that were told
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

// Delta returns that of the budget, Budget its rho, and Left what was not spent of that.
func (a *Account) Delta() float64  { return a.delta }
func (a *Account) Budget() float64 { return Rho(a.epsilon, a.delta) }
func (a *Account) Left() float64   { return a.Budget() - a.Rho() }

// Spent returns what was spent, in order.
func (a *Account) Spent() []Spending { return append([]Spending(nil), a.spent...) }

// Rho returns all that was spent, and Epsilon what that is for the delta of the budget.
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
