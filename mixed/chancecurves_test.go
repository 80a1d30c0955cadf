package mixed

import (
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// Curves of many columns gain evidence by chance, each a little, where the truth is a straight line.
func TestCurvesNeedMoreThanChance(t *testing.T) {
	chosen := 0
	for seed := range uint64(6) {
		table := drawing{tasks: 30, rows: 20, features: 30, levels: 1, slopes: .2, noise: .5}.table(t, seed)
		_, r := fitted(t, table, Options{CommonNoise: true}, holdOut(table)...)
		if chosenOf(r).Curves {
			chosen++
		}
	}
	check.FailIf(t, chosen > 0, "curves are chosen in %d of 6 tables of straight lines", chosen)
}
