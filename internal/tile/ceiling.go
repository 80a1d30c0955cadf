package tile

// FMAPeak does rounds of multiply-adds in registers and returns the number of
// floating-point operations, two for each multiply-add.
func FMAPeak(rounds int) (flops float64) { return fmaPeak(rounds) }

// sink keeps the compiler from dropping the multiply-adds.
var sink float64

func fmaPeakGeneric(rounds int) float64 {
	var a, b, c, d, e, f, g, h float64
	m := sink // not a constant
	for range rounds {
		a = a*m + m
		b = b*m + m
		c = c*m + m
		d = d*m + m
		e = e*m + m
		f = f*m + m
		g = g*m + m
		h = h*m + m
	}
	if s := a + b + c + d + e + f + g + h; s != 0 {
		sink = s
	}
	return float64(rounds) * 8 * 2
}
