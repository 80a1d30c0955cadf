package sums

import (
	"context"
	"errors"
	"fmt"

	"github.com/difalt/difalt/consensus"
)

// ErrElsewhere is returned by Agree at nodes whose arguments can be used.
var ErrElsewhere = errors.New("another node has arguments that cannot be used")

// A size is a number that all nodes need alike.
type size struct{ sum, squares float64 }

func (s *size) Fields(row *Row) {
	row.Number(&s.sum, 1)
	row.Number(&s.squares, 1)
}

// An agreement is whether the nodes can begin, and what they sum besides.
type agreement struct {
	fault bool
	count float64 // of nodes
	sizes []size
	rest  Record // may be nil
}

func (a *agreement) Fields(row *Row) {
	row.Flag(&a.fault)
	row.Number(&a.count, 1)
	for k := range a.sizes {
		a.sizes[k].Fields(row)
	}
	if a.rest != nil {
		a.rest.Fields(row)
	}
}

// Agree returns an error at all nodes if one of them has arguments that cannot be used, so that no node waits
// in vain: fault where it is not nil, and ErrElsewhere otherwise. It also returns an error unless all nodes
// have equal sizes, which are below 2^20. All nodes call it with as many sizes.
//
// It sets total, if that is not nil, to the sum of the records of all nodes: part(i) is the record of
// hosted node i.
func Agree(ctx context.Context, net consensus.Sums, fault error, total Record, part func(i int) Record,
	sizes ...int) error {
	rows := make([][]float64, len(net.Hosted()))
	for i := range rows {
		own := agreement{fault: fault != nil, count: 1, sizes: make([]size, len(sizes)), rest: total}
		if fault == nil && total != nil {
			own.rest = part(i)
		}
		for k, v := range sizes {
			if fault == nil {
				own.sizes[k] = size{float64(v), float64(v) * float64(v)}
			}
		}
		rows[i] = Write(nil, &own)
	}
	if err := net.Sum(ctx, rows); err != nil {
		return errors.Join(fault, err)
	}
	all := agreement{sizes: make([]size, len(sizes)), rest: total}
	Read(rows[0], &all)
	err := all.check(fault, sizes)
	if err == nil {
		return nil
	}
	// A node that alone received another total does not end alone: one more sum shows all nodes the
	// difference.
	for i := range rows {
		rows[i] = rows[i][:1]
	}
	return errors.Join(err, net.Sum(ctx, rows))
}

// check returns the error that follows from the totals.
func (a *agreement) check(fault error, sizes []int) error {
	switch {
	case fault != nil:
		return fault
	case a.fault:
		return ErrElsewhere
	}
	for k, s := range a.sizes { // (sum of v)^2 is the number of nodes times the sum of v^2 if they are equal
		if s.sum*s.sum != a.count*s.squares {
			return fmt.Errorf("the nodes have arguments of different sizes: %d here, %.4g in the mean", sizes[k],
				s.sum/a.count)
		}
	}
	return nil
}
