package pipe

import (
	"fmt"
	"io"
	"slices"

	"github.com/difalt/difalt/consensus"
)

const (
	longest = 1 << 30  // bytes of a frame
	chunk   = 64 << 10 // memory that is set aside at a time for a frame that has not come yet
)

// readFrame reads a frame into p, which grows only as the bytes come, whatever length
// the frame claims.
func readFrame(r io.Reader, p []byte) ([]byte, consensus.Kind, error) {
	p = slices.Grow(p[:0], consensus.HeaderLen)[:consensus.HeaderLen]
	if _, err := io.ReadFull(r, p); err != nil {
		return p, consensus.Closed, err
	}
	n, err := consensus.FrameLen(p)
	if err != nil {
		return p, consensus.Corrupt, err
	}
	if n > longest {
		return p, consensus.Corrupt, fmt.Errorf("a frame of %d bytes, more than %d", n, longest)
	}
	for len(p) < n {
		have := len(p)
		next := min(n, max(cap(p), have+chunk))
		p = slices.Grow(p, next-have)[:next]
		if _, err := io.ReadFull(r, p[have:]); err != nil {
			return p[:have], consensus.Closed, err
		}
	}
	return p, consensus.Closed, nil
}
