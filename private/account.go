package private

import (
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/internal/noise"
)

// Epsilon returns the least epsilon for which rho-zero-concentrated privacy is (epsilon, delta) privacy by
// Bun and Steinke (2016), proposition 1.3: rho + 2 sqrt(rho ln(1/delta)). It is NaN unless rho is at least 0
// and delta between 0 and 1.
func Epsilon(rho, delta float64) float64 {
	if !isPrivacy(rho, delta) {
		return math.NaN()
	}
	return rho + 2*math.Sqrt(rho*math.Log(1/delta))
}

// Rho returns the rho for which Epsilon(rho, delta) is epsilon. It is NaN unless epsilon is at least 0 and
// delta between 0 and 1.
func Rho(epsilon, delta float64) float64 {
	if !isPrivacy(epsilon, delta) {
		return math.NaN()
	}
	l := math.Log(1 / delta)
	root := epsilon / (math.Sqrt(l+epsilon) + math.Sqrt(l)) // sqrt(l + epsilon) - sqrt(l)
	return root * root
}

// isPrivacy reports whether a rho or an epsilon, and a delta, are in the range of the definition.
func isPrivacy(loss, delta float64) bool { return loss >= 0 && delta > 0 && delta < 1 }

// DefaultDelta returns T^-1.1 for T tasks. It is below 1/T, so that publishing the rows of one random task
// does not satisfy the definition.
func DefaultDelta(tasks int) float64 { return math.Pow(math.Max(float64(tasks), 2), -1.1) }

// An Account is a privacy budget and a list of its spendings.
type Account struct {
	epsilon, delta float64
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
	case !(epsilon > 0 && epsilon <= 1000): // a larger one protects nothing
		return nil, fmt.Errorf("private: epsilon is %v: must be above 0 and at most 1000", epsilon)
	case !(delta > 0 && delta < 1):
		return nil, fmt.Errorf("private: delta is %v: must be above 0 and below 1", delta)
	case colluding < 0:
		return nil, fmt.Errorf("private: the number of colluding nodes is %d: must not be negative", colluding)
	}
	return &Account{epsilon: epsilon, delta: delta, colluding: colluding, noise: noise.New().Gaussian}, nil
}

// Delta returns the delta of the budget.
func (a *Account) Delta() float64 { return a.delta }

// Budget returns the rho of the budget.
func (a *Account) Budget() float64 { return Rho(a.epsilon, a.delta) }

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

// String returns everything that the nodes need alike.
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
