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
	Values    []float64 // equal bits at all nodes
	Deviation float64   // the standard deviation of the noise in each value
}

// shorter leaves room for rounding when a vector of up to 2^20 numbers is cut to length 1.
const shorter = 1 - 0x1p-30

// Sum spends rho on the sum of n numbers over all tasks. Hosted node i has tasks[i] tasks; vector sets v,
// which is 0, to the contribution of task t, computed from the rows of that task, public facts and earlier
// totals. A vector longer than 1 is cut to that length, and one that is not finite counts as 0. All nodes
// call Sum alike. Sum returns an error that wraps ErrSpent if less than rho is left. It spends nothing then,
// nor with invalid arguments or a context that has ended before; after every other error rho is spent
// nevertheless.
func (a *Account) Sum(ctx context.Context, net *consensus.Network, what string, rho float64, tasks []int, n int,
	vector func(i, t int, v []float64)) (*Total, error) {
	if err := a.checkSum(ctx, net, tasks, n, vector); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // nothing is sent
		return nil, err
	}
	grid := 1 / (noise.Deviation * math.Sqrt(2*rho*float64(net.Len()-a.colluding)))
	for i, k := range tasks {
		if float64(k)/grid > 0x1p52 {
			const many = "private: the %d tasks of node %d are too many for an epsilon of %v"
			return nil, fmt.Errorf(many, k, net.Hosted()[i], a.epsilon)
		}
	}
	if err := a.spend(Spending{what, rho, n}); err != nil {
		return nil, err
	}
	total := &Total{Deviation: noise.Deviation * grid * math.Sqrt(float64(net.Len()))}
	v := make([]float64, n)
	z := make([][]float64, len(tasks))
	for i, k := range tasks {
		z[i] = append(make([]float64, n, n+1), 1) // the last number counts the nodes
		for t := range k {
			clear(v)
			vector(i, t, v)
			addTask(z[i], v, grid)
		}
		for j := range n {
			z[i][j] += float64(a.noise())
		}
	}
	if err := net.Sum(ctx, z); err != nil {
		return nil, err
	}
	if z[0][n] != float64(net.Len()) {
		const format = "private: a sum has the parts of %v nodes instead of %d: %w"
		return nil, fmt.Errorf(format, z[0][n], net.Len(), consensus.ErrContradiction)
	}
	total.Values = z[0][:n:n]
	for j := range total.Values {
		total.Values[j] *= grid
	}
	return total, nil
}

// checkSum returns an error unless the arguments of Sum are valid.
func (a *Account) checkSum(
	ctx context.Context, net *consensus.Network, tasks []int, n int, vector func(i, t int, v []float64),
) error {
	const mostNumbers = 1 << 30 // of 8 bytes, and room for their sums
	switch {
	case ctx == nil:
		return errors.New("private: need a context")
	case net == nil:
		return errors.New("private: need a network")
	case a.colluding >= net.Len():
		return fmt.Errorf("private: %d of %d nodes may collude: no node is left to protect", a.colluding, net.Len())
	case len(tasks) != len(net.Hosted()):
		return fmt.Errorf("private: tasks of %d nodes, but %d are hosted", len(tasks), len(net.Hosted()))
	case n < 0 || n > mostNumbers:
		return fmt.Errorf("private: a sum of %d numbers: must be from 0 to %d", n, mostNumbers)
	}
	for i, k := range tasks {
		switch {
		case k < 0:
			return fmt.Errorf("private: node %d has %d tasks", net.Hosted()[i], k)
		case k > 0 && vector == nil:
			return errors.New("private: need a function that sets the vector of a task")
		}
	}
	return nil
}

// addTask adds v to sum, in units of grid, cut to length 1 and rounded towards zero.
func addTask(sum, v []float64, grid float64) {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(x)) // NaN stays
	}
	if largest == 0 || largest-largest != 0 {
		return
	}
	squares := 0.0
	for _, x := range v {
		squares += float64(x / largest * (x / largest))
	}
	length := largest * math.Sqrt(squares) // may be infinite
	for j, x := range v {
		if length > 1 {
			x = x / largest / math.Sqrt(squares)
		}
		sum[j] += math.Trunc(x * shorter / grid)
	}
}
