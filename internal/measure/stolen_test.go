package measure

import (
	"runtime"
	"testing"
)

// TestStolen: where the system tells, programs have had processors, and what was stolen is a part of the time.
func TestStolen(t *testing.T) {
	of, known := processors()
	if known != (runtime.GOOS == "linux") || known && !(of.User+of.System > 0) {
		t.Fatalf("%+v, known: %v", of, known)
	}
	stolen := Stolen()
	for spent := 0; spent < 1<<28; spent++ { // at a hundredth of a second a tick, some ticks
		if share, ok := stolen(); ok {
			if !(share >= 0 && share <= 1) {
				t.Errorf("a share of %v", share)
			}
			return
		}
	}
}
