//go:build unix

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/internal/check"
	"github.com/spf13/cobra"
)

// A pageScript is a script of a shell with commands of a page as they are written, and with what they need.
type pageScript struct {
	name  string
	needs string // a command that fails where the script cannot run; "" for none
	mpi   bool   // needs a program that is built with MPI
	text  string
	files []string // that the script makes
}

// Scripts that make what commands of pages read.
const (
	trainClinics = "difalt fit --task clinic --target score --drop patient --model clinics-model.npz " +
		"examples/clinics.csv\n"
	storeTables = `awk 'BEGIN { print "store,revenue,size"
    for (i = 0; i < 90; i++) print "s" i % 9 "," i * 7 % 13 + i % 9 "," i * 5 % 11 }' > site-1.csv
`
	dateTables = `awk 'BEGIN { print "shop;day;price"
    for (i = 1; i < 29; i++) print "s" i % 4 ";" i ".02.2024;" i % 5 ",5" }' > site-1.csv
`
	tablesWithY = `sed s/score/y/ examples/clinics.csv > train.csv
sed s/score/y/ examples/new-clinics.csv > new.csv
for i in a b c; do sed s/score/y/ site-$i.csv > y.csv; mv y.csv site-$i.csv; done
cp new.csv new-tasks.csv
`
	newList = "difalt cluster new --nodes a=host-a:7001,b=host-b:7001,c=host-c:7001 --out keys "
)

// beforeExamples has what the examples of a command need, made by other commands.
var beforeExamples = map[string]string{
	"check":      dateTables,
	"fit":        storeTables,
	"predict":    trainClinics + "cp clinics-model.npz m.npz; gzip -c examples/new-clinics.csv > new.csv.gz\n",
	"adapt":      trainClinics,
	"model show": trainClinics,
}

// notRun says why no script has the commands that begin with some words.
var notRun = map[string]string{
	"difalt node ...": "stands for any training",
	"DIFALT_USER=":    "needs containers",
	"docker":          "needs containers",
	"podman":          "needs containers and a release",
	"go build":        "make check-build builds the program, make test-mpi and test-openblas build with tags",
	"CC=mpicc":        "make test-mpi builds with MPI",
	"go get":          "needs a release: make check-release embeds the library as a user would",
	"go install":      "needs a release: make check-release installs the program as a user would",
	"python3 cmd/difalt/scripts/accuracy/accuracy.py": "needs open tables of R and takes hours",
}

// pageScripts returns the scripts with commands of README, of docs and of the help. TestTutorial runs those
// of the tutorial.
func pageScripts(t *testing.T) []pageScript {
	t.Helper()
	read := func(name string) string { return string(readFile(t, here, "../..", name)) }
	readme, network := read("README.md"), read("docs/network.md")
	five := section(t, network, "Five minutes")
	tables := indentedBlocks(five)[0] + "\n" // of three sites
	scripts := []pageScript{
		{name: "README, one owner", text: commandBlocks(section(t, readme, "Tables: one owner")),
			files: []string{"clinics.npz", "predictions.csv"}},
		{name: "README, other commands",
			text:  command(t, readme, "go run ./cmd/difalt/paper") + "\n" + command(t, readme, "difalt help"),
			files: []string{"difalt-out/figure.svg"}},
		{name: "network.md, five minutes", text: commandBlocks(five) + strings.Join(inline(five), "\n"),
			files: []string{"m.npz", "p.csv"}},
		{name: "network.md, containers",
			text:  "mkdir deploy\n" + command(t, network, "difalt cluster new --nodes a=a:7001"),
			files: []string{"deploy/keys/c.key"}},
		{name: "method.md", text: command(t, read("docs/method.md"), "difalt simulate")},
		{name: "results.md", text: strings.Join(commandsWith(read("docs/results.md"), "difalt simulate"), "\n"),
			files: []string{"runs/metropolis/fig1a/trace.csv"}},
		{name: "the tutorial's sentences", text: strings.Join(wholeCommands(inline(read("docs/tutorial.md"))), "\n")},
		{name: "CONTRIBUTING", text: command(t, read("CONTRIBUTING.md"), "go run ./cmd/difalt info")},
		{name: "network.md, MPI", mpi: true, text: mpiTables(tables) + command(t, network, "mpirun"),
			files: []string{"m-3.npz"}},
	}
	scripts = append(scripts, ownersScripts(t, tables, readme, network)...)
	return append(scripts, helpScripts(tables)...)
}

// ownersScripts returns the scripts in which processes of several owners train.
func ownersScripts(t *testing.T, tables, readme, network string) []pageScript {
	t.Helper()
	machines, owners := section(t, network, "Then on three machines"), section(t, readme, "Tables: several owners")
	tables += "cp site-a.csv mine.csv\n"
	_, ownProblem, _ := strings.Cut(runExamples, "  # one of several processes")
	return []pageScript{
		{
			name: "README, several owners",
			text: tables + command(t, owners, "difalt cluster new") + withOwners(command(t, owners, "difalt node"),
				"difalt node --cluster keys/cluster.json --key keys/b.key --model b.npz site-b.csv",
				"difalt node --cluster keys/cluster.json --key keys/c.key --model c.npz site-c.csv") +
				command(t, owners, "difalt up"),
			files: []string{"a.npz", "b.npz", "m.npz"},
		},
		{
			name: "network.md, three machines",
			text: tables + ownKeys(command(t, machines, "difalt cluster key"), "b", "c") +
				command(t, machines, "difalt cluster new") + "\ncp keys/cluster.json .\n" +
				withOwners(command(t, machines, "difalt node"),
					"difalt node --cluster cluster.json --key b.key --model b.npz site-b.csv",
					"difalt node --cluster cluster.json --key c.key --model c.npz site-c.csv"),
			files: []string{"a.npz", "c.npz"},
		},
		{
			name: "help of cluster and node",
			text: tables + ownKeys(command(t, clusterExamples, "difalt cluster key"), "b") +
				command(t, clusterExamples, "difalt cluster new") + withOwners(command(t, nodeExamples, "difalt node"),
				"difalt node --cluster net/cluster.json --key b.key --model b.npz site-b.csv"),
			files: []string{"mine.npz", "b.npz"},
		},
		{
			name: "help of run, several owners",
			text: "difalt simulate --trials 1 --nodes 1 --export own.npz\n" +
				"difalt cluster new --nodes site-a=host-a:7001,site-b=host-b:7001 --out keys\n" +
				"cp keys/site-a.key keys/cluster.json .\n" + withOwners(command(t, ownProblem, "difalt run"),
				"difalt run --data own.npz --rank 4 --method accelerated --cluster cluster.json "+
					"--key keys/site-b.key --out b.npz"),
			files: []string{"own-result.npz", "b.npz"},
		},
	}
}

// ownKeys returns a script in which owner a makes a key by the command of a page, and so do others.
func ownKeys(command string, others ...string) string {
	script := "A=$(" + command + ")\n"
	for _, name := range others {
		script += fmt.Sprintf("%s=$(difalt cluster key --out %s.key)\n", strings.ToUpper(name), name)
	}
	return script
}

// withOwners returns a script in which a command of a page trains with the commands of other owners.
func withOwners(command string, others ...string) string {
	script := "\n"
	for i, other := range others {
		script += fmt.Sprintf("%s --join-timeout 1m & p%d=$!\n", other, i)
	}
	script += command + "\n"
	for i := range others {
		script += fmt.Sprintf("wait $p%d\n", i)
	}
	return script
}

// mpiTables returns the tables of the sites with the numbers of four processes.
func mpiTables(tables string) string {
	return tables + "mv site-a.csv site-0.csv; mv site-b.csv site-1.csv; mv site-c.csv site-2.csv\n" +
		"sed s/C/D/ site-0.csv > site-3.csv\n"
}

// helpScripts returns a script with the examples of each command, and one of the program's page.
func helpScripts(tables string) (scripts []pageScript) {
	add := func(s pageScript) { scripts = append(scripts, s) }
	alone, _, _ := strings.Cut(runExamples, "  # one of several processes")
	_, overMPI, _ := strings.Cut(nodeExamples, "\n\n")
	visit(newRootCommand(&cli.Streams{}), nil, func(cmd *cobra.Command, _ []string) {
		name := strings.TrimPrefix(cmd.CommandPath(), "difalt ")
		s := pageScript{name: "help of " + name, text: beforeExamples[name] + cmd.Example}
		switch name {
		case "cluster": // in a script of owners
			return
		case "difalt":
			program := withoutDescriptions(cmd.Example)
			node := commandsWith(program, "difalt node")[0]
			s.text = tables + tablesWithY + newList + "--task clinic --target y --drop patient\n" +
				"cp keys/cluster.json .; cp keys/a.key site.key; cp site-a.csv mine.csv\n" +
				strings.Replace(program, node, withOwners(node,
					"difalt node --cluster cluster.json --key keys/b.key --model b.npz site-b.csv",
					"difalt node --cluster cluster.json --key keys/c.key --model c.npz site-c.csv"), 1)
		case "node":
			s.mpi, s.text = true, mpiTables(tables)+overMPI
		case "run":
			s.text = alone
		case "up":
			s.text = tables + cmd.Example
		case "model":
			s.needs, s.text = "python3 -c 'import numpy'", trainClinics+cmd.Example
		case "generate": // the completion is for bash, whatever sh is
			s.needs, s.text = "man --version && bash --version", "bash -e <<'end'\n"+cmd.Example+"\nend"
		}
		if cmd.HasExample() {
			add(s)
		}
	})
	return scripts
}

// withoutDescriptions returns examples without what stands beside and below each command.
func withoutDescriptions(examples string) string {
	return regexp.MustCompile(`(?m)^ {10,}.*\n|(\S) {2,}\S.*$`).ReplaceAllString(examples, "$1")
}

// commandInText is a command of a page: the programs that its readers call, with variables before them.
var commandInText = regexp.MustCompile(`(?m)(?:^ *|[|;&(] *|do +)((?:[A-Z_]+=(?:\$\([^)]*\)|\S)* +)*` +
	`(?:difalt|go run|go build|go get|go install|docker|podman|kubectl|mpirun|man|python3) ` +
	`(?:\\\n|[^ |>#&)\n])(?:\\\n|'[^'\n]*'|[^|>#&)\n])*)`)

// commandsOf returns the commands of a text, each on a line.
func commandsOf(text string) (list []string) {
	for _, m := range commandInText.FindAllStringSubmatch(text, -1) {
		list = append(list, strings.Join(strings.Fields(strings.ReplaceAll(m[1], "\\\n", " ")), " "))
	}
	return list
}

// codeOf returns the blocks of code of a page, without indents.
func codeOf(page string) string {
	code := indentedBlocks(page)
	for _, b := range fencedBlocks(page) {
		code = append(code, b.text)
	}
	return strings.Join(code, "\n")
}

// commandBlocks returns the indented blocks of a section in one script.
func commandBlocks(section string) string { return strings.Join(indentedBlocks(section), "\n") + "\n" }

// commandsWith returns the commands of a page, in its blocks and its sentences, that begin with some words.
func commandsWith(page, words string) []string {
	return slices.DeleteFunc(append(commandsOf(page), inline(page)...), func(c string) bool {
		return !strings.HasPrefix(c, words)
	})
}

// command returns the first such command of a page.
func command(t *testing.T, page, words string) string {
	t.Helper()
	list := commandsWith(page, words)
	if list == nil {
		t.Fatalf("no command %q in %.100q", words, page)
	}
	return list[0]
}

// wholeCommands returns the commands of sentences that are more than the name of a command.
func wholeCommands(commands []string) (list []string) {
	for _, c := range commands {
		words := strings.Fields(c)
		_, rest, err := newRootCommand(&cli.Streams{}).Find(words[1:])
		if words[0] != program || err != nil || len(rest) > 0 {
			list = append(list, c)
		}
	}
	return list
}

var (
	simulated = regexp.MustCompile(`difalt simulate(?:\\\n|[^\n])*`) // with the lines that continue it
	size      = regexp.MustCompile(`--(?:trials|iterations)[ =]\S+`)
)

// onThisMachine replaces what a script of a page cannot have here: the hosts of owners, keys that are printed
// elsewhere, and the time of an experiment.
func onThisMachine(t *testing.T, script string) string {
	t.Helper()
	pairs := []string{"go run ./cmd/difalt/paper", program, "go run ./cmd/difalt", program} // the same code
	for _, name := range []string{"a", "b", "c"} {
		l := check.Listen(t) // whose port stays the test's when it is closed
		address, host := l.Addr().String(), "host-"+name+":7001"
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, host+"=sha256:...", address+"=$"+strings.ToUpper(name), host, address)
	}
	script = strings.NewReplacer(pairs...).Replace(script)
	return simulated.ReplaceAllStringFunc(script, func(command string) string {
		return strings.Replace(size.ReplaceAllString(command, ""), "simulate", "simulate --iterations 2 --trials 1", 1)
	})
}
