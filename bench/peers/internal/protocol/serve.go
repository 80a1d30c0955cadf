package protocol

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/difalt/difalt/internal/measure"
)

// serve talks to the driver until its requests end: it announces the version, and
// answers "check PATH" by the result of an iteration written to PATH and "run K" by the
// milliseconds that one of K iterations took. iterate fills the answer; export, if it is
// not nil, brings it to the layout of Answer and is not timed.
func serve(in io.Reader, out io.Writer, version string, a *Answer, iterate, export func(*Answer)) error {
	if _, err := fmt.Fprintln(out, "ready", version); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		verb, arg, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "check":
			iterate(a)
			if export != nil {
				export(a)
			}
			if err := a.Write(arg); err != nil {
				return err
			}
			fmt.Fprintln(out, "ok")
		case "run":
			k, err := strconv.Atoi(arg)
			if err != nil || k < 1 {
				return fmt.Errorf("run %q: need a positive number of iterations", arg)
			}
			ms, _ := measure.Calls(func() { iterate(a) })(k) // a function does not fail
			if _, err := fmt.Fprintf(out, "%.9g\n", ms); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown request %q", verb)
		}
	}
	return lines.Err()
}
