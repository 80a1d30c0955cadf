package mixed

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
)

const leastBuckets, mostBuckets, tables, fingerprints = 1 << 6, 1 << 20, 20, 1 << 20

// Levels implements Sums. The levels of all owners come in the same order at all of them; those that no table of
// this process has are numbered. The nodes sort their levels into the buckets of a table by a hash. To a bucket
// a node adds 1, a fingerprint of its level and the square of that. If a bucket has different levels, there is
// another table, of twice the size up to a limit.
func (s *seat) Levels(ctx context.Context, column string, own []string) ([]string, error) {
	names, err := s.namesHere(own)
	if err != nil {
		return nil, err
	}
	for table := range tables {
		n, known, list, clash := min(leastBuckets<<table, mostBuckets), make(map[int]string), []string(nil), false
		for _, text := range names {
			known[hash(text, table, n)] = text
		}
		sum := make([]float64, 3*n)
		for _, text := range own {
			d := float64(hash(text, -1, fingerprints))
			floats.Add(sum[3*hash(text, table, n):][:3], []float64{1, d, d * d})
		}
		if err := s.Add(ctx, "levels", sum); err != nil {
			return nil, err
		}
		for b := range n {
			// By Cauchy and Schwarz, k times the sum of k squares is the square of the sum if all are the
			// same, and larger otherwise.
			if v := sum[3*b:]; v[0]*v[2] != v[1]*v[1] {
				clash = true
			} else if v[0] > 0 {
				list = append(list, cmp.Or(known[b], fmt.Sprintf("(level %d, of other owners)", len(list)+1)))
			}
		}
		if !clash {
			return list, nil
		}
	}
	err = fmt.Errorf("column %q has too many levels", column)
	return nil, &Error{err, err.Error()}
}

// namesHere returns the levels of all tables of this process.
func (s *seat) namesHere(own []string) ([]string, error) {
	s.lock.Lock()
	s.levels = append(slices.Clip(s.levels), own...)
	s.lock.Unlock()
	if err := s.together(nil, func([][]float64) error { return nil }); err != nil {
		return nil, err
	}
	names := s.levels
	err := s.together(nil, func([][]float64) error { s.levels = nil; return nil })
	return names, err
}

// hash returns a number below n that follows from a text and the number of a table.
func hash(text string, table, n int) int {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", table, text))
	return int(binary.LittleEndian.Uint64(sum[:]) % uint64(n))
}
