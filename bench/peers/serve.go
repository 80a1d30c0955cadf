//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/kernel"
)

// serve talks to the driver until its requests end: it announces the version, and
// answers "check PATH" by the result of an iteration written to PATH and "run K" by the
// milliseconds that one of K iterations took. iterate fills the answer; export, if it is
// not nil, brings it to the layout of an answer and is not timed.
func serve(in io.Reader, out io.Writer, version string, a *answer, iterate, export func(*answer)) error {
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
			if err := a.write(arg); err != nil {
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

// serveProblem is what the peers in this program run: the iteration of PROBLEM on THREADS
// threads, as VARIANT does it.
func serveProblem(args []string) error {
	if len(args) != 2 && len(args) != 3 {
		return errors.New("usage: peers serve PROBLEM THREADS [VARIANT]")
	}
	p, err := readProblem(args[0])
	if err != nil {
		return err
	}
	threads, err := strconv.Atoi(args[1])
	if err != nil || threads < 1 {
		return fmt.Errorf("threads: %q is not a positive number", args[1])
	}
	runtime.GOMAXPROCS(threads)
	a := newAnswer(p.Tasks, p.D, p.R)
	variant := append(args, "")[2]
	if variant == "gonum" {
		return serve(os.Stdin, os.Stdout, "gonum "+moduleVersion("gonum.org/v1/gonum"), a, newGonum(p, threads).iterate, nil)
	}
	iterate, export, err := ours(p, threads, variant)
	if err != nil {
		return err
	}
	return serve(os.Stdin, os.Stdout, "difalt, kernel "+kernel.Info().Kernel, a, iterate, export)
}
