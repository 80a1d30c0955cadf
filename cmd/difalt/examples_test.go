//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/spf13/cobra"
)

// Tables that examples of the help read.
const (
	trainClinics = "difalt fit --task clinic --target score --drop patient --model clinics-model.npz examples/clinics.csv\n"
	siteTables   = `for i in a b c; do head -1 examples/clinics.csv > site-$i.csv; done
grep -E '^C(0|1[0-3])' examples/clinics.csv >> site-a.csv
grep -E '^C(1[4-9]|2[0-6])' examples/clinics.csv >> site-b.csv
grep -E '^C(2[7-9]|3|40)' examples/clinics.csv >> site-c.csv
`
	storeTables = `awk 'BEGIN { print "store,revenue,size"; for (i = 0; i < 90; i++) print "s" i % 9 "," i * 7 % 13 + i % 9 "," i * 5 % 11 }' \
    > site-1.csv
`
	dateTables = `awk 'BEGIN { print "shop;day;price"; for (i = 1; i < 29; i++) print "s" i % 4 ";" i ".02.2024;" i % 5 ",5" }' > site-1.csv
`
)

// before has what the examples of a command need, made by other commands.
var before = map[string]string{
	"check":      dateTables,
	"fit":        storeTables,
	"predict":    trainClinics + "cp clinics-model.npz m.npz; gzip -c examples/new-clinics.csv > new.csv.gz\n",
	"adapt":      trainClinics,
	"model":      trainClinics,
	"model show": trainClinics,
	"up":         siteTables,
}

// elsewhere says why a test does not run the examples that contain a word.
var elsewhere = map[string]string{
	"--cluster": "needs other processes: TestNode and the scripts of testdata have them",
	"mpirun":    "needs MPI: make test-mpi has it",
	"man -l":    "shows a page on the terminal",
	"...":       "is not a whole command",
	"docker":    "needs containers",
	"python3":   "needs NumPy",
}

var (
	simulated = regexp.MustCompile(`difalt simulate(?:\\\n|[^\n])*`) // with the lines that continue it
	size      = regexp.MustCompile(`--(?:trials|iterations)[ =]\S+`)
)

// runnable returns the blocks of examples that a test can run, without those of elsewhere, and shortens
// experiments of minutes.
func runnable(blocks []string) string {
	var list []string
	for _, b := range blocks {
		outside := false
		for word := range elsewhere {
			outside = outside || strings.Contains(b, word)
		}
		if !outside {
			list = append(list, b)
		}
	}
	text := strings.Join(list, "\n")
	return simulated.ReplaceAllStringFunc(text, func(command string) string {
		return strings.Replace(size.ReplaceAllString(command, ""), "simulate", "simulate --iterations 2 --trials 1", 1)
	})
}

// Every example of the help runs as it is written, but for those of elsewhere.
func TestExamplesRun(t *testing.T) {
	inFull(t)
	ran := 0
	visit(newRootCommand(&cli.Streams{}), nil, func(cmd *cobra.Command, path []string) {
		name := strings.TrimPrefix(cmd.CommandPath(), "difalt ")
		script := runnable(strings.Split(cmd.Example, "\n\n"))
		if !cmd.HasParent() || strings.TrimSpace(script) == "" { // the program's page is a summary of these pages
			return
		}
		ran++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newShell(t).run(t, before[name]+regexp.MustCompile(`(?m)^ +`).ReplaceAllString(script, ""))
		})
	})
	if ran < 10 {
		t.Errorf("only %d commands have examples that run", ran)
	}
}

// The commands of pages that TestPagesRun and TestTutorial leave out run, too.
func TestCommandsOfDocuments(t *testing.T) {
	inFull(t)
	for _, c := range []struct{ page, first, before string }{
		{"method.md", "difalt simulate", ""},
		{"results.md", "difalt simulate", ""},
		{"network.md", "difalt cluster key", ""},
		{"network.md", "difalt cluster new --nodes a=a:7001", "mkdir deploy\n"},
	} {
		t.Run(c.page+", "+c.first, func(t *testing.T) {
			t.Parallel()
			page := string(readFile(t, filepath.Join("../../docs", c.page)))
			script := ""
			for _, m := range commandInText.FindAllStringSubmatch(regexp.MustCompile(`(?m)^ +`).ReplaceAllString(page, ""), -1) {
				if strings.HasPrefix(m[1], c.first) {
					script += runnable([]string{m[1]}) + "\n"
				}
			}
			if strings.TrimSpace(script) == "" {
				t.Fatalf("docs/%s has no command %q", c.page, c.first)
			}
			s := newShell(t)
			s.run(t, c.before+script)
			if made, err := os.ReadDir(s.folder); err != nil || len(made) < 2 { // the link to the examples is one
				t.Errorf("%s\nmakes no file: %v", script, err)
			}
		})
	}
}
