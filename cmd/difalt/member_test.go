package main

import (
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
)

// TestJoinTimeout has no wait for neighbours last longer than --join-timeout: a node that cannot read its
// table ends after it, although it waits for neighbours to tell them so.
func TestJoinTimeout(t *testing.T) {
	o := memberOptions{joinTimeout: time.Minute, roundTimeout: time.Hour}
	for _, c := range []struct{ wait, want time.Duration }{
		{0, time.Minute},
		{time.Second, time.Second},
		{time.Hour, time.Minute},
	} {
		got := o.limit(engine.Options{JoinTimeout: c.wait})
		if got.JoinTimeout != c.want || got.RoundTimeout != time.Hour {
			t.Errorf("a wait of %v: %v and %v, want %v and %v", c.wait, got.JoinTimeout, got.RoundTimeout, c.want,
				time.Hour)
		}
	}
}
