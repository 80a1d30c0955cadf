package nodes

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// A Secret is what nobody can know but a node: a hash of its rows.
type Secret [sha256.Size]byte

// Dithers reports whether sums are dithered: they are where others see them.
func (group *Group) Dithers() bool { return group.Secrets != nil && group.Len() > 1 }

// Dither adds to every sum over the tasks of hosted node i normal noise, given the sums of squares over tasks: that of all nodes together is the
// given part of what such a number differs by between tasks, of sum j part(j). The sum of T tasks is a draw with an error of sqrt T times
// that. The noise is what a stream of ChaCha8 makes of the secret of the node and of
// the sums themselves: the same wherever the node lives, another for any other sums, and unknown to who does not know the rows.
func (group *Group) Dither(i int, sum, squares []float64, tasks int, part func(j int) float64) {
	if tasks == 0 {
		return
	}
	share := 1 / math.Sqrt(float64(group.Len()))
	hash, word := sha256.New(), make([]byte, 8)
	hash.Write(group.Secrets[i][:])
	for _, v := range sum {
		binary.LittleEndian.PutUint64(word, math.Float64bits(v))
		hash.Write(word)
	}
	noise := rand.New(rand.NewChaCha8([32]byte(hash.Sum(nil))))
	for j, v := range sum {
		sum[j] += share * part(j) * spread(v, squares[j], float64(tasks)) * noise.NormFloat64()
	}
}

// spread returns what numbers differ by whose sum and sum of squares is given, and at least a tenth of their mean: that of a single one is its size.
func spread(sum, squares, n float64) float64 {
	mean := sum / n
	if n == 1 {
		return math.Abs(mean)
	}
	return math.Sqrt(max(squares-sum*mean, 0)/(n-1) + mean*mean/100)
}
