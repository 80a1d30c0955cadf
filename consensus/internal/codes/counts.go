package codes

import "github.com/difalt/difalt/consensus/internal/masked"

// Powers of two are counted in groups: each in a separate group from 2^-64 to 2^63, and 64 in a group
// elsewhere, where a first vector may lose most of its digits; later vectors regain them.
const (
	powersPerOuterGroup = 64
	outerGroups         = 16 // on either side
	groups              = outerGroups + 2*powersPerOuterGroup + outerGroups
)

// groupOf returns the group of an exponent of a float64.
func groupOf(exponent int) int {
	const each = powersPerOuterGroup
	switch {
	case exponent < -each:
		return (exponent + (outerGroups+1)*each) / each
	case exponent < each:
		return outerGroups + exponent + each
	}
	return min(outerGroups+2*each+(exponent-each)/each, groups-1)
}

// largestOf returns the largest exponent of a group.
func largestOf(group int) int {
	const each = powersPerOuterGroup
	switch {
	case group < outerGroups:
		return (group-outerGroups)*each - 1
	case group < outerGroups+2*each:
		return group - outerGroups - each
	}
	return (group-outerGroups-2*each+2)*each - 1
}

// counts is the masked.Summand of a count over all groups of exponents.
type counts struct {
	mean   *Mean
	layout masked.Layout
}

func (c *counts) Up() masked.Layout { return c.layout }

func (c *counts) Down() masked.Layout { return c.layout }

func (c *counts) Finish(down, total []uint64) { copy(down, total) }

// Fill implements masked.Summand. It counts the largest difference of every part.
func (c *counts) Fill(words []uint64, i int) error {
	c.mean.started = true
	e, zero, err := c.mean.largest(i)
	if err != nil {
		return err
	}
	for k := range parts {
		if !zero[k] {
			words[k*groups+groupOf(e[k])]++
		}
	}
	return nil
}
