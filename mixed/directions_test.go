package mixed

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/mat"
)

// fewTasks returns a table of few tasks whose target follows a tenth of its many columns, with the same
// slopes in all tasks. Every third row is held out.
func fewTasks(seed uint64, tasks, rows, columns int) Input {
	r := rand.New(rand.NewPCG(seed, 61))
	d, in := &Data{}, Input{}
	for j := range columns {
		d.Names = append(d.Names, fmt.Sprint("x", j))
	}
	for i := range tasks * rows {
		x, y := make([]float64, columns), float64(i%tasks)/4+.5*r.NormFloat64()
		for j := range x {
			x[j] = r.NormFloat64()
			if j%10 == 0 {
				y += x[j] / 2
			}
		}
		check.Done(d.Append(fmt.Sprint("task ", i%tasks), y, x...))
		in.HeldOut = append(in.HeldOut, i/tasks%3 == 2)
	}
	in.Table = d
	return in
}

// Loadings of many columns can follow every row of few tasks. Such a fit is no better for it: it predicts
// held-out rows about as well as its own simpler methods do, for one table and for three owners.
func TestLoadingsDoNotFollowRows(t *testing.T) {
	for _, columns := range []int{25, 45, 70} {
		sum := 0.0
		const tables = 4
		for seed := range uint64(tables) {
			in := fewTasks(seed, 6, 20, columns)
			_, one := fitted(t, in.Table, Options{NoCurves: true}, in.HeldOut...)
			o := open
			o.NoCurves = true
			_, several, err := Together(context.Background(), cut(in, 3), network("path", 3), o)
			check.Done(err)
			least := math.Inf(1)
			for _, s := range one.Scores[1:] {
				least = min(least, s.Test.RMSE)
			}
			sum += math.Log(one.Scores[0].Test.RMSE / least)
			check.FailIf(t, math.Abs(several.Scores[0].Test.RMSE/one.Scores[0].Test.RMSE-1) > 1e-8,
				"%d columns, table %d: the error of three owners is %v, of one %v", columns, seed,
				several.Scores[0].Test.RMSE, one.Scores[0].Test.RMSE)
		}
		ratio := math.Exp(sum / tables)
		t.Logf("%d columns: the error is %.3f of the least one of the simpler methods", columns, ratio)
		check.FailIf(t, ratio > 1.1, "%d columns: the error is %.3f of the least one", columns, ratio)
	}
}

// The penalty of loadings is their number times half the logarithm of the number of tasks, or r/2 log det of
// I + s^2 sum X'X / noise where that is larger; it does not depend on the basis of the loadings.
func TestRankPenalty(t *testing.T) {
	table := drawing{tasks: 12, rows: 9, features: 3, levels: 1, slopes: 1, noise: 1}.table(t, 3)
	s := statsOf(t, table, false, 1)
	const rank = 2
	q := s.start()
	near(t, "the penalty of rank 0", s.rankPenalty(s.tasks, q), 0)
	q.rank, q.w = rank, []float64{.3, .1, -.4, .2, 0, .5, .1, -.2}
	squares := 0.0
	for _, w := range q.w {
		squares += w * w / float64(len(q.w))
	}
	for _, noise := range []float64{1e-8, 1e-3, 1e3} {
		q.noise = noise
		a := mat.NewSymDense(s.linear, nil)
		for i := range s.linear {
			for j := i; j < s.linear; j++ {
				v := s.total[i*s.p+j] * squares / noise
				if i == j {
					v++
				}
				a.SetSym(i, j, v)
			}
		}
		log, _ := mat.LogDet(a)
		want := max(rank*log/2, (2*4-1)*math.Log(12)/2)
		near(t, fmt.Sprint("the penalty with noise ", noise), s.rankPenalty(s.tasks, q), want)
		turned := q.clone()
		for i := range 4 {
			turned.w[i], turned.w[4+i] = .6*q.w[i]+.8*q.w[4+i], .8*q.w[i]-.6*q.w[4+i]
		}
		near(t, "the penalty in another basis", s.rankPenalty(s.tasks, turned), s.rankPenalty(s.tasks, q))
	}
	q.noise = 1e-8
	with := s.rankPenalty(s.tasks, q)
	s.barred[2] = true
	check.FailIf(t, s.rankPenalty(s.tasks, q) > with-5, "a column without loadings counts: %v and %v",
		s.rankPenalty(s.tasks, q), with)
}
