package tile

// Width is the number of float64 in the widest vector of any tier: every row of
// samples and every column of a basis is padded with zeros to a multiple of it.
const Width = 8

// Pad returns the smallest multiple of Width that is at least n.
func Pad(n int) int { return (n + Width - 1) &^ (Width - 1) }

// Stride returns the row or column stride, in float64, for vectors of n
// entries: Pad(n), and one more Width when Pad(n) entries would be a multiple of
// 4096 bytes, since walking down such rows would hit one set of the first-level
// cache over and over.
func Stride(n int) int {
	s := Pad(n)
	if s > 0 && s%512 == 0 {
		s += Width
	}
	return s
}

// Float is the type in which samples are stored. Arithmetic is float64 for both.
type Float interface{ float32 | float64 }
