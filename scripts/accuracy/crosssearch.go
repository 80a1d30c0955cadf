package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
)

// A trial is a member that was cross-validated.
type trial struct {
	member
	square  float64 // mean squared error over all folds
	doubt   float64 // its standard error, by how folds differ
	freedom float64
	*directions
}

// directions are the bases of the folds, and the member that they were found for.
type directions struct {
	found member
	bases []*kernel.Basis
}

// A search chooses a member by cross-validation, one strength after the other.
type search struct {
	*folds
	tried []*trial
	known map[member]*trial // with the current directions
	now   *directions
}

// Strengths are searched over these half decades, and ranks up to mostRank.
const (
	leastHalf, mostHalf = -14, 14
	mostRank            = 8
)

// choose returns the best trial of all, and the one of the least freedom within a standard error of it.
func (s *search) choose(ctx context.Context) (best, sparing *trial, err error) {
	s.known, s.now = map[member]*trial{}, &directions{}
	// Rank 0: everything but directions.
	at, err := s.sweep(ctx, member{low: none, intercept: -2, spread: none, shared: -2})
	if err != nil {
		return nil, nil, err
	}
	best = at
	for rank, since := 1, 0; rank <= min(mostRank, s.w-1) && since < 2; rank++ {
		if at, err = s.grow(ctx, best, rank); err != nil {
			return nil, nil, err
		}
		if since++; at.square < best.square {
			best, since = at, 0
		}
	}
	sparing = best
	for _, t := range s.tried {
		if t.square <= best.square+best.doubt && t.freedom < sparing.freedom {
			sparing = t
		}
	}
	return best, sparing, nil
}

// grow returns the best trial of a rank, from the strengths of another.
func (s *search) grow(ctx context.Context, from *trial, rank int) (*trial, error) {
	m := from.member
	m.rank = rank
	if from.low == none { // as if what there is in all directions were in these alone
		m.low = 0
		if from.spread != none {
			m.low = from.spread + int(math.Round(2*math.Log10(float64(s.w)/float64(rank))))
		}
	}
	var at *trial
	for round := range 2 {
		grid := []int{m.low, m.low - 2, m.low + 2}
		for k := 0; k < len(grid); k++ {
			next := m
			next.low = grid[k]
			t, err := s.with(ctx, next, at)
			if err != nil {
				return nil, err
			}
			if at == nil || t.square < at.square {
				if at != nil && k > 0 { // go on in this direction
					if further := 2*grid[k] - at.low; !slices.Contains(grid, further) && inside(further) {
						grid = append(grid, further)
					}
				}
				at = t
			}
		}
		s.now, s.known = at.directions, map[member]*trial{at.member: at}
		t, err := s.sweep(ctx, at.member)
		if err != nil {
			return nil, err
		}
		if t.member == at.member || round == 1 {
			return t, nil
		}
		at, m = t, t.member
	}
	panic("unreachable")
}

func inside(k int) bool { return leastHalf <= k && k <= mostHalf }

// with returns a trial with directions of its own, which start from those of another.
func (s *search) with(ctx context.Context, m member, from *trial) (*trial, error) {
	d := &directions{found: m}
	var err error
	var start []*kernel.Basis
	if from != nil {
		start = from.bases
	}
	if d.bases, err = s.find(ctx, m, s.parts, start); err != nil {
		return nil, err
	}
	s.now, s.known = d, map[member]*trial{}
	t, err := s.try(ctx, []member{m})
	if err != nil {
		return nil, err
	}
	return t[0], nil
}

// sweep changes one strength at a time, as long as that gains anything.
func (s *search) sweep(ctx context.Context, m member) (*trial, error) {
	for range 3 {
		before := m
		for _, strength := range []func(*member) *int{
			func(m *member) *int { return &m.intercept }, func(m *member) *int { return &m.spread },
			func(m *member) *int { return &m.shared }, func(m *member) *int { return &m.low },
		} {
			if m.rank == 0 && strength(&m) == &m.low {
				continue
			}
			var err error
			if m, err = s.along(ctx, m, strength); err != nil {
				return nil, err
			}
		}
		if m == before {
			break
		}
	}
	t, err := s.try(ctx, []member{m})
	if err != nil {
		return nil, err
	}
	return t[0], nil
}

// along returns the best along one strength: over decades about where it is, further while the best is at an end, then
// half a decade to both sides. What is not of every model may be left out.
func (s *search) along(ctx context.Context, m member, strength func(*member) *int) (member, error) {
	at := *strength(&m)
	middle := at
	if at == none {
		middle = -2
	}
	grid := []int{middle - 2, middle, middle + 2}
	if at == none {
		grid = []int{middle - 4, middle - 2, middle, middle + 2, middle + 4}
	}
	optional := strength(&m) == &m.intercept || strength(&m) == &m.spread
	for halves := false; ; {
		var members []member
		for _, k := range grid {
			if next := m; inside(k) {
				*strength(&next) = k
				members = append(members, next)
			}
		}
		if optional {
			next := m
			*strength(&next) = none
			members = append(members, next)
		}
		trials, err := s.try(ctx, members)
		if err != nil {
			return m, err
		}
		best := slices.MinFunc(trials, func(a, b *trial) int {
			switch {
			case a.square < b.square:
				return -1
			case a.square > b.square:
				return 1
			}
			return 0
		})
		k := *strength(&best.member)
		lo, hi := slices.Min(grid), slices.Max(grid)
		switch {
		case k == none || halves:
			return best.member, nil
		case k == lo && inside(lo-2):
			grid = append(grid, lo-2)
		case k == hi && inside(hi+2):
			grid = append(grid, hi+2)
		default:
			grid, halves = append(grid, k-1, k+1), true
		}
	}
}

// try cross-validates members with the current directions; those that are known cost nothing.
func (s *search) try(ctx context.Context, members []member) ([]*trial, error) {
	var fresh []member
	for _, m := range members {
		if s.known[m] == nil && !slices.Contains(fresh, m) {
			fresh = append(fresh, m)
		}
	}
	if fresh != nil {
		squares, freedom, err := s.errors(ctx, fresh, func(_ member, fold int) *kernel.Basis {
			if s.now.bases == nil {
				return nil
			}
			return s.now.bases[fold]
		})
		if err != nil {
			return nil, err
		}
		for j, m := range fresh {
			t := &trial{member: m, freedom: freedom[j], directions: s.now}
			t.square, t.doubt = meanError(squares[j])
			if math.IsNaN(t.square) {
				return nil, fmt.Errorf("cross-validation of %+v gives no number", m)
			}
			s.known[m] = t
			s.tried = append(s.tried, t)
		}
	}
	out := make([]*trial, len(members))
	for j, m := range members {
		out[j] = s.known[m]
	}
	return out, nil
}
