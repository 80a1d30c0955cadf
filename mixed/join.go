package mixed

import (
	"cmp"
	"slices"
)

// join returns one model, with the tasks of several models of equal parameters.
func join(list []*Model) (*Model, error) {
	if len(list) == 1 {
		return list[0], nil
	}
	p := list[0].Parameters()
	t := &p.Tasks
	t.Names, t.Samples, t.Theta = slices.Clip(t.Names), slices.Clip(t.Samples), slices.Clip(t.Theta)
	t.Noise, t.Freedom, t.Covariances = slices.Clip(t.Noise), slices.Clip(t.Freedom), slices.Clip(t.Covariances)
	for _, m := range list[1:] {
		more := m.Parameters().Tasks
		t.Names, t.Samples = append(t.Names, more.Names...), append(t.Samples, more.Samples...)
		t.Theta, t.Noise = append(t.Theta, more.Theta...), append(t.Noise, more.Noise...)
		t.Freedom, t.Digests = append(t.Freedom, more.Freedom...), append(slices.Clip(t.Digests), more.Digests...)
		if len(t.Covariances) > 0 && more.Covariances != nil {
			t.Covariances, t.Strengths = append(t.Covariances, more.Covariances...), cmp.Or(t.Strengths, more.Strengths)
		} else {
			t.Covariances, t.Strengths = nil, nil
		}
	}
	joinGrowth(&p, list)
	return New(p)
}

// joinGrowth gives every task the level and the slope of the noise of its owner. New tasks have their means
// over the training rows of all owners.
func joinGrowth(p *Parameters, list []*Model) {
	all := new(Growth)
	level, slope, rows, same := 0.0, 0.0, 0.0, true
	for _, m := range list {
		noise := &m.p.Prior.Noise
		own := 0.0
		for _, n := range m.p.Tasks.Samples {
			own += float64(n)
			all.Level, all.Slope = append(all.Level, noise.Level), append(all.Slope, noise.Slope)
		}
		level, slope, rows = level+float64(own*noise.Level), slope+float64(own*noise.Slope), rows+own
		same = same && noise.Level == list[0].p.Prior.Noise.Level && noise.Slope == list[0].p.Prior.Noise.Slope
	}
	if same {
		return
	}
	p.Tasks.Growth = all
	p.Prior.Noise.Level, p.Prior.Noise.Slope = level/max(rows, 1), slope/max(rows, 1)
}
