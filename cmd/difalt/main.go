// The difalt command reproduces the paper's experiments on synthetic data. It fits, applies and extends
// linear mixed models on tables of many small regression tasks, for one owner or several. Run "difalt help"
// for examples.
//
// A command is a file: its options, its flags and help, and the function that runs it. Flags that several
// commands share are in flags.go.
package main

import (
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/experiment"
	"github.com/spf13/cobra"
)

// program is the name of the command.
const program = "difalt"

const (
	programHelp = `difalt trains linear models for many small, related regression tasks together.

One table: "check" says how it is read, "fit" fits a mixed model to a table of
many tasks, "predict" and "adapt" apply it, "model show" prints it. Several
files of the same columns are one table.

Tables of several owners: "node" trains with the owners of other tables, who
exchange sums over all nodes and never a row; "cluster" makes the list of nodes,
and "up" tries all of it on one machine, one owner per file.

The paper's algorithm (Dif-AltGDmin): "simulate" runs it on synthetic data,
"run" on a problem file.

Exit codes:
    0  success
    1  an input, an output or a resource has a fault: a file, its content,
       memory or a disk. The message names it
    2  the command line is wrong; the message names the flag
    3  another node failed, sent different totals, or refuses this one: its
       owner finds the reason in its log
    5  the result was written, but has not converged (JSON: "converged": false).
       It does not replace a better one; the message names its file
   70  the program has a fault: please report the stack on the standard error
  129  ended as its terminal was closed (SIGHUP); nohup prevents that
  130  interrupted by Ctrl-C, here or at another node
  143  ended by SIGTERM

After exit codes 1 to 3 existing files are unchanged; where the report alone
cannot be written to the standard output, new files are complete. With --json an
error is one JSON object, the last line of the standard error, with its code,
flag, file and line. GOMEMLIMIT=8GiB makes Go collect memory before it reaches
that limit. The file name - means standard input or output of tables, models and
results; a standard output that is closed is refused for them.`
	programExamples = `  difalt fit --task clinic --target y --model m.npz train.csv
                                       fit a table of many small tasks
  difalt predict --model m.npz --out predictions.csv new.csv
  difalt adapt --model m.npz --out m2.npz new-tasks.csv
                                       add tasks without retraining

  difalt up --task clinic --target y --model m.npz site-*.csv
                                       one owner per file, on this machine
  difalt node --cluster cluster.json --key site.key --model m.npz mine.csv
                                       train with the owners of other tables

  difalt simulate                      a small experiment with a picture
  difalt simulate --preset fig1a       figure 1a of the paper`
)

func main() { cli.Main(newRootCommand) }

func newRootCommand(std *cli.Streams) *cobra.Command {
	root := cli.Program(std, &cobra.Command{
		Use:     program,
		Short:   "Decentralised multi-task representation learning",
		Long:    programHelp,
		Example: programExamples,
	})
	cli.Add(std, root, "One table:", newCheck(std), newFit(std), newPredict(std), newAdapt(std), newModel(std))
	cli.Add(std, root, "Tables of several owners:", newCluster(std), newNode(std), newUp(std))
	cli.Add(std, root, "The paper's algorithm:", experiment.NewSimulate(std, program), experiment.NewResults(std),
		newRun(std))
	cli.Add(std, root, "", cli.NewInfo(std), newGenerate(std))
	return root
}
