package testnet

import (
	"fmt"
	"io"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
)

const (
	longest = 1 << 30  // bytes of a frame
	chunk   = 64 << 10 // memory that is set aside at a time for a frame that has not come yet
)

// readFrame reads a frame into p, which grows only as the bytes come, whatever length
// the frame claims.
func readFrame(r io.Reader, p []byte) ([]byte, wire.Kind, error) {
	p = slices.Grow(p[:0], wire.HeaderLen)[:wire.HeaderLen]
	if _, err := io.ReadFull(r, p); err != nil {
		return p, wire.Closed, err
	}
	n, err := wire.FrameLen(p)
	if err != nil {
		return p, wire.Corrupt, err
	}
	if n > longest {
		return p, wire.Corrupt, fmt.Errorf("a frame of %d bytes, more than %d", n, longest)
	}
	for len(p) < n {
		have := len(p)
		next := min(n, max(cap(p), have+chunk))
		p = slices.Grow(p, next-have)[:next]
		if _, err := io.ReadFull(r, p[have:]); err != nil {
			return p[:have], wire.Closed, err
		}
	}
	return p, wire.Closed, nil
}
