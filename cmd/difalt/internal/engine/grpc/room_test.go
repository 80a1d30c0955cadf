package grpc

import "testing"

// TestRoom: a frame that arrives early gets no memory that holds a frame which the node may still read.
func TestRoom(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		next, used uint64
		size       int
	}{{0, 0, 10}, {1, 0, 20}, {2, 0, none}, {3, 0, none}, {2, 1, 10}, {3, 1, none}, {3, 2, 20}, {4, 2, none}} {
		e := &edge{}
		e.in = incoming{got: [2][]byte{make([]byte, 1, 10), make([]byte, 1, 20)}, next: c.next, used: c.used}
		p := new(Transport).room(e)
		switch {
		case c.size == none && (p != nil || e.in.got[0] == nil || e.in.got[1] == nil):
			t.Errorf("frame %d, while frame %d is in use, gets the memory of it", c.next, c.used)
		case c.size != none && (cap(p) != c.size || len(p) != 0 || e.in.got[c.next%2] != nil):
			t.Errorf("frame %d, while frame %d is in use: memory of %d bytes, want %d", c.next, c.used, cap(p), c.size)
		}
	}
}
