//go:build !purego

package tile

import "unsafe"

// An ahead is the memory that a tile asks for beside its work, from address next
// on: for every row and 8 features that it reads, next moves on by pace bytes, and
// pace changes to pace^flip and back. The lines asked for at a time are apart bytes
// from each other.
type ahead struct {
	next              uintptr
	apart, pace, flip int
}

// after returns what to ask for after so many rows of 8 features.
func (h ahead) after(rows int) ahead {
	h.next += uintptr(rows * (2*h.pace + h.flip) / 2)
	return h
}

// basisAhead returns what mulBasis asks for beside each group of columns of count
// samples: every line, or where they are far one of five, at every second step. Of
// all patterns that were tried those of odd distances are the best: lines are
// fetched in pairs, and the hardware takes a walk along one side of the pairs for
// something else.
func basisAhead[F Float](next uintptr, x []F, count int) ahead {
	size := int(unsafe.Sizeof(x[0]))
	switch share := basisShare(count * size); {
	case next == 0:
		return ahead{next: uintptr(unsafe.Pointer(&x[0]))}
	case far(count * size):
		return ahead{next: next, flip: 2 * size * share}
	default:
		return ahead{next: next, apart: 64, pace: size * share}
	}
}

// transposedAhead returns what mulTransposed asks for: every line, or where
// they are far one of three.
func transposedAhead[F Float](next uintptr, x []F, count int) ahead {
	size := int(unsafe.Sizeof(x[0]))
	pace := size * (8 - basisShare(count*size))
	switch {
	case next == 0:
		return ahead{next: uintptr(unsafe.Pointer(&x[0]))}
	case far(count * size):
		return ahead{next: next, pace: pace}
	default:
		return ahead{next: next, apart: 64, pace: pace}
	}
}
