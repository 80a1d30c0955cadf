package protocol

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// Main runs a peer whose arguments are PROBLEM THREADS [VARIANT]: it reads the
// problem, calls start for what serve needs, and serves. It does not return
// before standard input ends.
func Main(version string, start func(p *Problem, threads int, variant string) (iterate, export func(*Answer), err error)) {
	if err := run(version, start); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(version string, start func(*Problem, int, string) (iterate, export func(*Answer), err error)) error {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		return fmt.Errorf("usage: %s PROBLEM THREADS [VARIANT]", os.Args[0])
	}
	p, err := Read(os.Args[1])
	if err != nil {
		return err
	}
	threads, err := strconv.Atoi(os.Args[2])
	if err != nil || threads < 1 {
		return fmt.Errorf("threads: %q is not a positive number", os.Args[2])
	}
	runtime.GOMAXPROCS(threads)
	iterate, export, err := start(p, threads, append(os.Args, "")[3])
	if err != nil {
		return err
	}
	return serve(os.Stdin, os.Stdout, version, NewAnswer(p.Tasks, p.D, p.R), iterate, export)
}

// ModuleVersion returns the version of a module that this program was built with.
func ModuleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}
