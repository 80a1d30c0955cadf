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
	t.Parallel()
	inFull(t)
	beyond := map[string][]string{"int": {"-1000000000000", "9000000000000000000"}, "float64": {"-1e308", "1.7e308", "NaN", "Inf"}, "duration": {"-1s", "2562047h"}}
	tried := 0
	for _, command := range []string{
		"fit --data no.csv --task t --target y", "node --data no.csv --task t --target y", "up --data no*.csv --task t --target y",
		"simulate --engine grpc --out " + t.TempDir(), "plan --gamma 0.5", "cluster check --cluster no.json",
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

// A mistake in a command line ends in exit code 2 and one line that names the flag and the value,
// before anything is written.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	inFull(t)
	for command, lines := range map[string]map[string]string{
		"": {
			"simulat":              `unknown command "simulat": did you mean simulate`,
			"describe model.npz":   `model.npz is a model or problem file (see "difalt model show")`,
			"predict --data a.csv": "--model is missing",
			"adapt --model m.npz":  "--data is missing",
			"fit":                  "--data is missing",
			"fit --data a.csv":     "--task COLUMN and --target COLUMN",
			"fit --data a.csv --task t --target y --model=": "--model is empty",
			"model show m.npz --effects-out=":               "--effects-out is empty",
			"simulate --export=":                            "--export is empty",
			"plan figure":                                   `takes no arguments, only flags, but got "figure"`,
			"simulate extra":                                `takes no arguments, only flags, but got "extra"`,
			"simulate --no-such":                            `unknown flag: --no-such (see "difalt simulate --help")`,
			"simulate --nodes many":                         `--nodes is "many": want a whole number`,
			"simulate --trials 1e9":                         `--trials is "1e9": want a whole number`,
			"simulate --seed -1":                            `--seed is "-1": want a whole number from 0`,
			"simulate --noise much":                         `--noise is "much": want a number`,
			"simulate --link-delay 5":                       `--link-delay is "5": want a time such as`,
		},
		"simulate": {
			"--nodes 0":                        "--nodes is 0",
			"--nodes 200":                      "--nodes is 200, more than tasks = 120",
			"--rank 0":                         "--rank is 0",
			"--rank 121":                       "--rank is 121, more than min(features, tasks) = min(120, 120)",
			"--preset fig1a --rank 0":          "--rank is 0",
			"--kappa 0.5":                      "--kappa is 0.5",
			"--kappa 1e300":                    "--kappa is 1e+300: must be at most",
			"--noise 1e300":                    "--noise is 1e+300: must be at most 1e+150",
			"--bandwidth 0":                    "--bandwidth is 0",
			"--sporadic 0.71":                  "--sporadic is 0.71",
			"--agree chebyshev --sporadic 0.5": "chebyshev",
			"--method scaled --rounds 3 --sporadic 0.3": "Trigger",
			"--method dif,sgd":                          `--method: unknown method "sgd": want one of [dif altgdmin dec dgd`,
			"--method dif,dif":                          "dif is listed twice",
			"--method=":                                 "--method: none is listed",
			"--graph blob":                              `--graph: unknown graph "blob"; valid are er:P, grid`,
			"--graph ring --weights equal":              "--weights",
			"--weights heavy":                           `--weights: unknown mixing weights "heavy"; valid are metropolis`,
			"--time-model fast":                         `--time-model: unknown time model "fast": want paper or paper-text`,
			"--preset fig3":                             `--preset: unknown preset "fig3": want one of fig1a`,
			"--out=":                                    "--out is empty",
			"--compress int3":                           `--compress: unknown compression "int3"; valid are none`,
			"--agree talk":                              `--agree: unknown kind of agreement "talk"; valid are plain`,
			"--preconditioner no":                       "--preconditioner: ",
			"--reference best":                          "--reference is ",
		},
		"plan": {
			"--epsilon 2":              "--epsilon is 2",
			"--gamma 1":                "--gamma is 1",
			"--gamma 0.5 --graph ring": "--gamma and --graph",
			"--degree 3":               "--degree needs --gamma",
			"--gamma 0.5 --degree 20":  "--degree is 20",
			"--graph ring:3":           "--graph",
			"--weights heavy":          "heavy",
			"--nodes 200":              "--nodes is 200",
			"--rank 200":               "--rank is 200",
			"--constants few":          `--constants is "few"`,
			"--time-model slow":        "--time-model",
			"--jitter 1ms --gamma 0.5": "--jitter is 1ms",
		},
		"fit --data " + clinics + " --task clinic --target score --drop patient": {
			"--rank 9":                                   "--rank is 9: there are 8 features",
			"--rank -1":                                  `--rank is "-1"`,
			"--holdout age --test-fraction .5":           "only one of",
			"--holdout age --test-last visits":           "only one of --test-last and --holdout",
			"--test-fraction .5 --test-rows-per-task 3":  "only one of",
			"--test-fraction 0 --test-last visits":       "leave out --test-last",
			"--train-rows-per-task 5 --folds-by patient": "use --test-fraction",
			"--node site --nodes 3":                      "only one of --node and --nodes",
			"--auto --rounds 3":                          "drop it or --rounds",
			"--graph ring --weights equal":               "bipartite",
			"--nodes 0":                                  "--nodes is 0",
			"--folds 1":                                  "--folds is 1",
			"--starts 0":                                 "--starts is 0",
			"--rounds 0":                                 "--rounds is 0",
			"--iterations 0":                             "--iterations is 0",
			"--test-fraction 1":                          "--test-fraction is 1",
			"--train-rows-per-task 0":                    "--train-rows-per-task is 0",
			"--method sgd":                               `unknown method "sgd"`,
			"--log-target maybe":                         `--log-target is "maybe": want yes, no or auto`,
			"--log-target yes --epsilon 1 --rank 2":      "log-target",
			"--step 0":                                   `--step is "0"`,
			"--step fast":                                `--step is "fast"`,
			"--ridge NaN":                                `--ridge is "NaN"`,
			"--tolerance nan":                            "--tolerance is NaN",
			"--decimal ;":                                `the decimal mark is ';': want '.' or ','; say which with --decimal . or --decimal ,`,
			"--dates ydm":                                `the order of dates is "ydm"`,
			"--delimiter ,,":                             `--delimiter is ",,"`,
			"--missing median":                           `--missing is "median": want refuse, drop or mean`,
		},
	} {
		for line, want := range lines {
			stdout, stderr, code := difaltCommand(t, strings.Fields(command+" "+line)...)
			if code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "difalt: ") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
				t.Errorf("difalt %s %s: exit code %d, %q and %q, want %q", command, line, code, stdout, stderr, want)
			}
		}
	}
}
