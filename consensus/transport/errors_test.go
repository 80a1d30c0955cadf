package transport

import (
	"errors"
	"testing"
)

// TestErrorTexts: an error names all nodes that relayed it.
func TestErrorTexts(t *testing.T) {
	err := &PeerError{Peer: 4, Via: []int{2, 3}, Round: 7, Kind: Timeout, Err: errors.New("why")}
	if got, want := err.Error(), "node 2 reports that node 3 reports that node 4, round 7: timeout: why"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for k, want := range []string{"timeout", "closed", "refused", "protocol", "corrupt", "waiting", "interrupted",
		"Kind(7)"} {
		if got := Kind(k).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
