package kernel

import "math"

// Compensated runs tasks on a float32 copy of their samples without losing the
// digits of float64. With X the samples, X' their float32 copy and theta_t a
// reference, the responses of the copy are
//
//	y'_t = y_t - (X_t - X'_t) theta_t,
//
// so that X'_t theta_t - y'_t is the residual of the true samples to rounding, and
// what the copy gets wrong is 6e-8 times the distance to the reference. Every call
// of Refer makes the estimate of that moment the reference. An iteration then
// streams half of the memory.
//
// A Compensated is used by one goroutine at a time.
type Compensated struct {
	full, reduced *Tasks
}

// NewCompensated returns tasks with their float32 copy; the reference is zero. The
// second result is false, and the first nil, if the samples are stored as float32
// already or one of them is beyond the range of float32.
func NewCompensated(t *Tasks) (*Compensated, bool) {
	if t.storage == Float32 {
		return nil, false
	}
	b := NewBuilder(t.d, t.rows, Float32)
	for task, n := range t.rows {
		y := t.Y(task)
		for i := range n {
			at := (t.first[task] + i) * t.stride
			row := t.x64[at:][:t.d]
			for _, v := range row {
				if math.Abs(v) > math.MaxFloat32 {
					return nil, false
				}
			}
			b.SetRow(task, i, row, y[i])
		}
	}
	return &Compensated{t, b.Tasks()}, true
}

// Reduced returns the float32 copy. Refer changes its responses, so it must not run
// while a step does.
func (c *Compensated) Reduced() *Tasks { return c.reduced }

// Refer makes theta_t = U b_t the reference, with b_t = b[t*r : (t+1)*r]. It reads
// the samples once in both storages. theta is scratch memory of at least d entries; it
// is allocated if it is nil, and nothing otherwise.
func (c *Compensated) Refer(u *Basis, b []float64, theta []float64) {
	f, s := c.full, c.reduced
	if theta == nil {
		theta = make([]float64, f.d)
	}
	if u.d != f.d || len(b) < f.Len()*u.r || len(theta) < f.d {
		panic(badGroup)
	}
	theta = theta[:f.d]
	for t, n := range f.rows {
		clear(theta)
		for j, v := range b[t*u.r:][:u.r] {
			for k, w := range u.Col(j) {
				theta[k] += v * w
			}
		}
		y := f.Y(t)
		for i := range n {
			x := f.x64[(f.first[t]+i)*f.stride:][:f.d]
			x32 := s.x32[(s.first[t]+i)*s.stride:][:f.d]
			lost := 0.0
			for k, v := range x {
				lost += (v - float64(x32[k])) * theta[k]
			}
			s.y[s.first[t]+i] = y[i] - lost
		}
	}
}
