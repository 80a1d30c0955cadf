package transport

import "github.com/difalt/difalt/consensus/internal/frame"

// FrameOverhead, 10, is the number of bytes that a frame adds to its code.
const FrameOverhead = frame.Overhead

// FrameNumber returns the number of the frame p along its link modulo 256, and false if p is too short for
// a frame.
func FrameNumber(p []byte) (n uint8, ok bool) { return frame.Number(p) }

// CheckFrame returns an error unless p is frame number n, counted from 0, that a node has sent along a link
// in a run, undamaged. The network checks every frame in this way; a transport may do so earlier.
func CheckFrame(p []byte, run uint64, node int, n uint64) error {
	_, err := frame.NewSeed(run, node).Open(p, n)
	return err
}
