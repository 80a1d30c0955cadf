package mixed

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
)

const (
	leastBuckets, mostBuckets = 1 << 6, 1 << 20
	tables, fingerprints      = 16, 1 << 20
	// levelsMessage is the number of values in a message: a column of a usual number of levels has one.
	levelsMessage = 3 << 11
	// A column has at most 128 levels at all owners, or 8 times the levels of this owner, and a table 256
	// features or 4 times the own ones: a member that invents levels takes little time and memory from the
	// others.
	commonLevels, levelShare     = 128, 8
	commonFeatures, featureShare = 256, 4
)

// mostOf returns how many levels or features all owners may have together.
func mostOf(common, share, own int) int { return max(common, share*own) }

// Levels implements Sums. The levels of all owners come in equal order at all of them; levels that no table
// of this process has are numbered. The nodes sort their levels into the buckets of a table by a hash. To a
// bucket a node adds 1, a fingerprint of its level and the square of that. If a bucket has different levels,
// there is another table, of twice the size up to a limit.
func (s *seat) Levels(ctx context.Context, column string, own []string,
	add func(ctx context.Context, v []float64) error) ([]string, error) {
	names, err := s.namesHere(own)
	if err != nil {
		return nil, err
	}
	most := mostOf(commonLevels, levelShare, len(own))
	// Of four tables one at most has two levels in a bucket, most likely.
	largest := min(2*most*most, mostBuckets)
	var sum, part []float64
	for table := range tables {
		n, known := min(leastBuckets<<table, largest), make(map[int]string)
		for _, text := range names {
			known[hash(text, table, n)] = text
		}
		sum = dense.Grow(sum, 3*n)
		clear(sum)
		for _, text := range own {
			d := float64(hash(text, -1, fingerprints))
			floats.Add(sum[3*hash(text, table, n):][:3], []float64{1, d, d * d})
		}
		part = append(part[:0], sum...)
		for message := range slices.Chunk(sum, levelsMessage) {
			if err := add(ctx, message); err != nil {
				return nil, err
			}
		}
		list, clash := []string(nil), false
		for b := range n {
			v := sum[3*b:][:3]
			if v[0] != math.Trunc(v[0]) || v[0] < part[3*b] {
				return nil, contradiction(fmt.Sprintf("the levels of column %q", column))
			}
			// By Cauchy and Schwarz, k times the sum of k squares is the square of the sum if all are the
			// same, and larger otherwise.
			clash = clash || v[0]*v[2] != v[1]*v[1]
			if v[0] > 0 {
				list = append(list, cmp.Or(known[b], fmt.Sprintf("(level %d, of other owners)", len(list)+1)))
			}
		}
		if len(list) > most {
			const format = "column %q has more than %d levels at all owners, and %d here"
			return nil, contradiction(fmt.Sprintf(format, column, most, len(own)))
		}
		if !clash {
			return list, nil
		}
	}
	return nil, contradiction(fmt.Sprintf("column %q has too many levels", column))
}

// namesHere returns the levels of all tables of this process.
func (s *seat) namesHere(own []string) ([]string, error) {
	s.lock.Lock()
	s.levels = append(slices.Clip(s.levels), own...)
	s.lock.Unlock()
	if err := s.together(nil, nil, func(*meeting) error { return nil }); err != nil {
		return nil, err
	}
	names := s.levels
	err := s.together(nil, nil, func(*meeting) error { s.levels = nil; return nil })
	return names, err
}

// hash returns a number below n that follows from a text and the number of a table.
func hash(text string, table, n int) int {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", table, text))
	return int(binary.LittleEndian.Uint64(sum[:]) % uint64(n))
}
