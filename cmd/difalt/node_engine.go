package main

import (
	"regexp"
	"strings"
)

// Flags of node that have a meaning with one engine only: cluster.json says who is who
// to those that talk over gRPC, and the launcher to those that talk over MPI.
var forEngine = map[string][]string{
	"grpc": {"cluster", "key", "cert", "listen", "listen-fd", "rejoin-timeout", "stay"},
	"mpi":  {"graph", "weights"},
}

func (f *nodeFlags) checkEngine() error {
	if forEngine[f.engine] == nil {
		return usagef("--engine is %q: want grpc or mpi", f.engine)
	}
	for name, flags := range forEngine {
		for _, flag := range flags {
			if name != f.engine && f.set.Changed(flag) {
				return usagef("--%s is for --engine %s", flag, name)
			}
		}
	}
	if f.engine != "mpi" {
		return nil
	}
	for flag, value := range map[string]string{"data": f.data, "model": f.model, "trace": f.trace, "metrics": f.metrics} {
		if value != "" && (strings.Count(value, "%") != 1 || !numbered.MatchString(value)) {
			return usagef("--%s is %q: all processes have one command line, so it needs one %%d (or %%03d), which stands for the number of the process, from 0", flag, value)
		}
	}
	return nil
}

var numbered = regexp.MustCompile(`%(0\d)?d`)
