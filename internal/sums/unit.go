package sums

import (
	"context"
	"math"

	"github.com/difalt/difalt/consensus"
)

// The exponents of float64 by math.Frexp, from -1073 to 1024, lie in groups of groupSize from lowest on.
const (
	groupSize = 64
	lowest    = -1087
	groups    = (1024-lowest)/groupSize + 1
	smallest  = -1022 // the exponent of the smallest normal number
)

// Units returns units for sums over all nodes: for every k the power of two below the largest own[i][k] of
// all nodes, which is at least one unit and below two; 1 if the numbers of all nodes are zero. own[i] has
// the numbers of hosted node i, which are finite and not negative. All nodes call it together with as many
// numbers. They learn how many nodes have a number in each group of 64 powers of two, and with each power
// of two in the highest group.
func Units(ctx context.Context, net consensus.Sums, own [][]float64) ([]float64, error) {
	n := len(own[0])
	highest, err := last(ctx, net, own, groups, func(_, exponent int) int { return (exponent - lowest) / groupSize })
	if err != nil {
		return nil, err
	}
	within, err := last(ctx, net, own, groupSize, func(k, exponent int) int {
		return exponent - lowest - groupSize*highest[k]
	})
	if err != nil {
		return nil, err
	}
	units := make([]float64, n)
	for k := range units {
		units[k] = 1
		if highest[k] >= 0 {
			units[k] = math.Ldexp(1, max(lowest+groupSize*highest[k]+within[k]-1, smallest))
		}
	}
	return units, nil
}

// last returns for every number the last of size classes that the number of a node falls into, and -1 if it
// is zero at all nodes. A class below 0 does not count.
func last(
	ctx context.Context, net consensus.Sums, own [][]float64, size int, classOf func(k, exponent int) int,
) ([]int, error) {
	rows := make([][]float64, len(own))
	for i, numbers := range own {
		rows[i] = make([]float64, size*len(numbers))
		for k, v := range numbers {
			_, exponent := math.Frexp(v)
			if class := classOf(k, exponent); v > 0 && class >= 0 {
				rows[i][k*size+class]++
			}
		}
	}
	if err := net.Sum(ctx, rows); err != nil {
		return nil, err
	}
	list := make([]int, len(own[0]))
	for k := range list {
		list[k] = -1
		for class, count := range rows[0][k*size:][:size] {
			if count > 0 {
				list[k] = class
			}
		}
	}
	return list, nil
}
