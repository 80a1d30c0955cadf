package tile

// ReadSum returns the sum of x, read as fast as the tier can: in one stream, or in four
// through a quarter of x each.
func ReadSum(x []float64, four bool) float64 {
	raceRead(x, 1, len(x), 0)
	return readSum(x, four)
}

// FMAPeak does rounds of multiply-adds in registers and returns the number of
// floating-point operations, two for each multiply-add.
func FMAPeak(rounds int) (flops float64) { return fmaPeak(rounds) }

func readSumGeneric(x []float64) float64 {
	var s [8]float64
	for len(x) >= 8 {
		for i, v := range x[:8] {
			s[i] += v
		}
		x = x[8:]
	}
	for i, v := range x {
		s[i] += v
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

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
