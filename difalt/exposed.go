package difalt

// SendsCoefficientGrams reports whether nodes send B_g B_g', the sum of b_t b_t' over
// their own tasks: with P to all neighbours in every iteration (ScaledDiffusion,
// GradientTracking and, unless PreconditionerNone, the accelerated methods), and without EveryIteration to their parent in the tree of
// sums whenever convergence is judged. From it the b_t of a node with fewer than r tasks
// can be computed up to a rotation, and that of a single task up to its sign; see
// docs/privacy.md for all else that messages give away.
func (o *Options) SendsCoefficientGrams() bool {
	switch o.Method {
	case ScaledDiffusion, GradientTracking:
		return true
	case Accelerated, AcceleratedTracking:
		return o.Accelerated.Preconditioner == PreconditionerScaled || o.judges()
	}
	return o.judges()
}

// judges reports whether the distance to a minimiser is estimated.
func (o *Options) judges() bool {
	return (!o.EveryIteration || o.Method == AcceleratedTracking && o.StopAtNoise) && !o.SampleSplit
}

// warnExposed names the hosted nodes whose coefficients can be computed from what they
// are about to send.
func (s *system) warnExposed() {
	if s.net.Len() == 1 || !s.o.SendsCoefficientGrams() {
		return
	}
	var exposed []int
	for i, k := range s.p.Nodes {
		if k.Len() < s.o.Rank {
			exposed = append(exposed, s.hosted[i])
		}
	}
	if exposed != nil {
		s.o.Logger.Warn("nodes with fewer tasks than the rank give their coefficients away, up to a rotation or a sign, by sums of b b' that they send (docs/privacy.md)",
			"nodes", exposed, "rank", s.o.Rank)
	}
}
