// Package memory says before long work begins whether it can fit in memory.
package memory

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/dustin/go-humanize"
)

// Variable is the environment variable that takes the place of what the machine has:
// a size such as 64GB, or "unlimited".
const Variable = "DIFALT_MEMORY"

// Check returns an error if work that needs at least so many bytes cannot have them.
// What names the need, in words such as "20000 x 20000 mixing weights". It passes where
// nothing is known about the machine.
func Check(need float64, what string) error {
	have, of, known, err := Available()
	if err != nil {
		return err
	}
	if !known || need <= have {
		return nil
	}
	return fmt.Errorf("%s need at least %s of memory, and %s are available%s (set %s to another size, or to unlimited, to go on anyway)", what, Size(need), Size(have), of, Variable)
}

// CheckGraph returns an error if a graph of so many nodes, each linked to so many others on
// average, cannot fit in memory with its mixing weights: two words a link, and what goes
// with a node.
func CheckGraph(nodes int, degree float64) error {
	return Check(float64(nodes)*(16*degree+128), fmt.Sprintf("a graph of %d nodes with %.3g neighbours each", nodes, degree))
}

// CheckProgram returns an error if the limits of this process leave no room for the program itself.
// Go's runtime would end it with a trace, sooner or later.
func CheckProgram() error {
	if limit, _ := limits(); limit < own && os.Getenv(Variable) == "" {
		return fmt.Errorf("ulimit -v leaves %s of addresses, and the program reserves %s before it has any data: leave it out, or limit memory by a control group (set %s to go on anyway)",
			Size(limit), Size(own), Variable)
	}
	return nil
}

// Bound lets Go collect what is not in use before the program has more than there is, such as in a
// control group, where it would be killed for a heap of which half is garbage. Who sets
// GOMEMLIMIT knows better.
func Bound() {
	if bytes, _, known := machine(); known && bytes > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(bytes))
	}
}

// own is how many bytes of addresses the program takes before it has any data: Go's runtime and
// the threads of the C library reserve them, and use few.
const own = 2e9

// Size returns a number of bytes in words, such as "1.2 TB".
func Size(bytes float64) string {
	if bytes >= 1e18 {
		return fmt.Sprintf("%.1e TB", bytes/1e12)
	}
	return humanize.Bytes(uint64(bytes))
}

// Available returns the bytes that this process may still take, whose they are, in words that may be
// none, and whether that is known.
func Available() (bytes float64, of string, known bool, err error) {
	switch s := os.Getenv(Variable); {
	case strings.EqualFold(s, "unlimited"):
		return 0, "", false, nil
	case s != "":
		n, err := humanize.ParseBytes(s)
		if err != nil {
			return 0, "", false, fmt.Errorf("%s is %q: want a size such as 64GB, or unlimited", Variable, s)
		}
		return float64(n), "", true, nil
	}
	bytes, of, known = machine()
	return bytes, of, known, nil
}
