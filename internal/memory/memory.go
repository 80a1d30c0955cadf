// Package memory says before long work begins whether it can fit in memory.
package memory

import (
	"fmt"
	"os"
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
	have, known, err := Available()
	if err != nil {
		return err
	}
	if !known || need <= have {
		return nil
	}
	return fmt.Errorf("%s need at least %s of memory, and %s are available (set %s to another size, or to unlimited, to go on anyway)", what, Size(need), Size(have), Variable)
}

// CheckWeights returns an error if the mixing weights of so many nodes cannot fit in
// memory: a dense matrix and three of the same size that its eigenvalues take.
func CheckWeights(nodes int) error {
	l := float64(nodes)
	return Check(4*8*l*l, fmt.Sprintf("mixing weights between %d nodes", nodes))
}

// Size returns a number of bytes in words, such as "1.2 TB".
func Size(bytes float64) string {
	if bytes >= 1e18 {
		return fmt.Sprintf("%.1e TB", bytes/1e12)
	}
	return humanize.Bytes(uint64(bytes))
}

// Available returns the bytes that this process may still take, and whether that is known.
func Available() (bytes float64, known bool, err error) {
	switch s := os.Getenv(Variable); {
	case strings.EqualFold(s, "unlimited"):
		return 0, false, nil
	case s != "":
		n, err := humanize.ParseBytes(s)
		if err != nil {
			return 0, false, fmt.Errorf("%s is %q: want a size such as 64GB, or unlimited", Variable, s)
		}
		return float64(n), true, nil
	}
	bytes, known = machine()
	return bytes, known, nil
}
