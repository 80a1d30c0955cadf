package kernel

import (
	"sync"

	"github.com/difalt/difalt/kernel/internal/tile"
)

// MaxAbs returns the largest absolute values of the features and of the responses, 0
// if there are none and NaN if one of them is NaN. The first call of it or of SquareSums
// reads the samples; tasks that differ by WithResponses share what it found.
func (t *Tasks) MaxAbs() (x, y float64) {
	for task := range t.rows {
		y = max(y, tile.MaxAbs(t.Y(task)))
	}
	return t.size.of(t).largest, y
}

// SquareSums returns the sums of x^2 over all features of all samples and of y^2 over all
// responses, which may overflow or underflow. It reads the samples as MaxAbs does.
func (t *Tasks) SquareSums() (x, y float64) {
	for task := range t.rows {
		s := 0.0
		for _, v := range t.Y(task) {
			s += v * v
		}
		y += s
	}
	return t.size.of(t).squares, y
}

// A size is what one pass over the samples of Tasks finds, made when it is first needed.
type size struct {
	once             sync.Once
	largest, squares float64
}

func (s *size) of(t *Tasks) *size {
	s.once.Do(func() {
		defer t.keep()
		for task := range t.rows {
			var largest, squares float64
			if t.storage == Float32 {
				largest, squares = tile.Size(rowsOf(t, t.x32, task))
			} else {
				largest, squares = tile.Size(rowsOf(t, t.x64, task))
			}
			s.largest, s.squares = max(s.largest, largest), s.squares+squares
		}
	})
	return s
}

// rowsOf returns the samples of a task out of x, the samples of all, with their padding.
func rowsOf[F tile.Float](t *Tasks, x []F, task int) []F {
	t.ahead(task)
	return x[t.first[task]*t.stride:][:t.rows[task]*t.stride]
}
