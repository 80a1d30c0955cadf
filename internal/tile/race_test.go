//go:build race

package tile_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const racing = "DIFALT_TEST_RACE"

// TestRaceIsSeen writes to the end of each operand of each operation while that runs, in a
// process of its own: the race detector must see that the operation uses it, also in
// assembly.
func TestRaceIsSeen(t *testing.T) {
	disturbed := func(name string, disturb func(r *run, op func())) {
		r := newRun(t, rand.New(rand.NewPCG(1, 1)))
		r.disturb = func(op func()) { disturb(r, op) }
		checks[name](r, shape{33, 19, 16}) // all of every operand is used: triangles have order 16
	}
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		operands, seen := 0, false
		disturbed(name, func(r *run, op func()) {
			op()
			operands = len(r.operands)
		})
		for i := range operands {
			switch at := fmt.Sprint(name, i); {
			case os.Getenv(racing) == at:
				disturbed(name, func(r *run, op func()) {
					if i >= len(r.operands) || seen { // it comes later, or another operation follows
						op()
						return
					}
					seen = true
					done := make(chan bool)
					go func() {
						r.operands[i][len(r.operands[i])-1]++
						close(done)
					}()
					op()
					<-done
				})
				return
			case os.Getenv(racing) == "" && (i == 0 || !testing.Short()):
				var out []byte
				// the detector forgets old accesses
				for try := 0; try < 5 && !strings.Contains(string(out), "DATA RACE"); try++ {
					cmd := exec.Command(os.Args[0], "-test.run=^TestRaceIsSeen$")
					cmd.Env = append(os.Environ(), racing+"="+at)
					out, _ = cmd.CombinedOutput()
				}
				if !strings.Contains(string(out), "DATA RACE") {
					t.Errorf("%s: a write to operand %d is not seen:\n%.300s", name, i+1, out)
				}
			}
		}
	}
}
