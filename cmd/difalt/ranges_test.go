package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Every number of a command line has two ends: what is far beyond them is refused by the name of
// its flag, before anything is read or computed.
func TestNumbersHaveTwoEnds(t *testing.T) {
	inFull(t)
	beyond := map[string][]string{"int": {"-1000000000000", "9000000000000000000"}, "float64": {"-1e308", "1.7e308", "NaN", "Inf"}, "duration": {"-1s", "2562047h"}}
	tried := 0
	for _, command := range []string{
		"fit --data no.csv --task t --target y", "node --data no.csv --task t --target y", "up --data no*.csv --task t --target y",
		"simulate --engine grpc --out " + t.TempDir(), "plan --gamma 0.5", "bench", "cluster check --cluster no.json",
	} {
		args := strings.Fields(command)
		cmd, _, err := newRootCommand().Find(args)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			// Any finite tolerance will do, and with a scaled step that is far too long the run
			// ends as diverged, which is what simulate may be asked to show.
			if f.Name == "tolerance" || f.Name == "scaled-step" {
				return
			}
			for _, value := range beyond[f.Value.Type()] {
				tried++
				more := []string{fmt.Sprintf("--%s=%s", f.Name, value)}
				if f.Name == "every" {
					more = append(more, "--checkpoint=no")
				}
				if _, stderr, code := difaltCommand(t, append(args, more...)...); code != exitUsage || !strings.Contains(stderr, "--"+f.Name+" is ") {
					t.Errorf("difalt %s %s: exit code %d: %s", command, more, code, stderr)
				}
			}
		})
	}
	if tried < 100 {
		t.Errorf("only %d numbers were tried", tried)
	}
}
