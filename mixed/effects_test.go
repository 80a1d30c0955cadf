package mixed

import (
	"math"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/mat"
)

// TestEffects compares every effect with its contrast written out.
func TestEffects(t *testing.T) {
	for _, freedom := range []float64{0, 4} {
		p := synthetic()
		mean, cov, quantile := p.Mean, p.MeanCovariance, normal
		if freedom > 0 {
			mean, cov, quantile = p.Tasks.Theta[:9], p.Tasks.Covariances[0].Packed, t4*normal
			p.Effects = &Estimate{Mean: mean, Covariance: cov, Freedom: freedom}
		}
		contrast := func(kind EffectKind, term, reference string, from float64, a ...float64) Effect {
			v := mat.NewVecDense(9, append(a, make([]float64, 9-len(a))...))
			e := 3*mat.Dot(v, mat.NewVecDense(9, mean)) + from
			se, sd := 3*math.Sqrt(mat.Inner(v, unpack(cov, 9), v)), 3*math.Sqrt(mat.Inner(v, spread(&p.Prior), v))
			return Effect{kind, term, reference, e, se, e - quantile*se, e + quantile*se, sd}
		}
		bend, v := Effect{Kind: CurveEffect, Term: "age"}, p.Design.Curves[0].Values
		for i, w := range []float64{1. / 6, 1. / 3, 1. / 3, 1. / 6} { // mean squares over the knots, ends counted half
			at := contrast(CurveEffect, "", "", 0, 0, 0, 0, 0, 0, 0, 0, v[i], v[4+i])
			bend.Estimate = math.Hypot(bend.Estimate, math.Sqrt(w)*at.Estimate)
			bend.StandardError = math.Hypot(bend.StandardError, math.Sqrt(w)*at.StandardError)
			bend.Deviation = math.Hypot(bend.Deviation, math.Sqrt(w)*at.Deviation)
		}
		bend.Low = max(bend.Estimate-quantile*bend.StandardError, 0)
		bend.High = bend.Estimate + quantile*bend.StandardError
		got := check.OK(New(p)).Effects()
		for i, w := range []Effect{
			contrast(Intercept, InterceptTerm, "", 10, 1), contrast(Slope, "age", "", 0, 0, 1./9),
			contrast(Slope, "dose", "", 0, 0, 0, 2),
			contrast(Contrast, "site=b", "site=a", 0, 0, 0, 0, -2, 1/.45),
			contrast(Contrast, "site=c", "site=a", 0, 0, 0, 0, -2, 0, 2.5), bend,
		} {
			if len(got) != 6 || got[i].Kind != w.Kind || got[i].Term != w.Term || got[i].Reference != w.Reference {
				t.Fatalf("effect %d of %v: want %v", i, got, w)
			}
			for name, values := range map[string][2]float64{
				"estimate":    {got[i].Estimate, w.Estimate},
				"error":       {got[i].StandardError, w.StandardError},
				"deviation":   {got[i].Deviation, w.Deviation},
				"lower limit": {got[i].Low, w.Low},
				"upper limit": {got[i].High, w.High},
			} {
				near(t, name+" of "+w.Term, values[0], values[1])
			}
		}
	}
}
