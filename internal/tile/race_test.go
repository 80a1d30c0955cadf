//go:build race

package tile_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	values "reflect" // the package has a function reflect
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/tile"
)

const racing = "DIFALT_TEST_RACE"

// TestRaceIsSeen writes to the end of each operand of each operation while that runs, in a
// process of its own: the race detector must see that the operation uses it, also in
// assembly.
func TestRaceIsSeen(t *testing.T) {
	var at string
	for name, op := range values.ValueOf(&ops).Elem().Fields() {
		if op.IsNil() { // there is none among the tiles
			continue
		}
		for i := range op.Type().NumIn() {
			if at = fmt.Sprint(name.Name, i); op.Type().In(i).Kind() != values.Slice || i > 0 && testing.Short() {
				continue
			}
			switch os.Getenv(racing) {
			case at:
				disturb(name.Name, op, i)
				for what, check := range ops.operations() {
					if what == name.Name || strings.HasPrefix(what, "MulPacked") && name.Name == "PackBasis" {
						check(newRun(t, rand.New(rand.NewPCG(1, 1))), shape{20, 20, 5})
					}
				}
				return
			case "":
				var out []byte
				for try := 0; try < 5 && !strings.Contains(string(out), "DATA RACE"); try++ { // the detector forgets old accesses
					cmd := exec.Command(os.Args[0], "-test.run=^TestRaceIsSeen$")
					cmd.Env = append(os.Environ(), racing+"="+at)
					out, _ = cmd.CombinedOutput()
				}
				if !strings.Contains(string(out), "DATA RACE") {
					t.Errorf("%s: a write to operand %d is not seen:\n%.300s", name.Name, i, out)
				}
			}
		}
	}
}

// disturb makes an operation write the last entry of an operand from another goroutine.
func disturb(name string, op values.Value, operand int) {
	original := values.ValueOf(op.Interface())
	op.Set(values.MakeFunc(op.Type(), func(args []values.Value) []values.Value {
		for i, arg := range args { // the detector only looks at memory of Go's heap
			if arg.Kind() == values.Slice {
				args[i] = values.MakeSlice(arg.Type(), arg.Len(), arg.Len())
				values.Copy(args[i], arg)
			}
		}
		done := make(chan bool)
		at := args[operand].Len() - 1
		switch {
		case name == "PackBasis": // in Go on all tiers, by clear in part, which the detector does not see
			at = 0
		case name == "MulPacked" && operand == 4:
			at = tile.Pad(20)*tile.PackWidth - 1 // behind it is scratch memory for float32
		}
		go func() {
			switch m := args[operand].Interface().(type) {
			case []float64:
				m[at] = 0
			case []float32:
				m[at] = 0
			}
			close(done)
		}()
		results := original.Call(args)
		<-done
		return results
	}))
}
