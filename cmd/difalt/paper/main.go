// The paper command has the commands of difalt for the paper's experiments: simulate and results. It builds
// in a fraction of the time, since it links neither networks nor formats of tables.
package main

import (
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/experiment"
	"github.com/spf13/cobra"
)

// program is the name of the command.
const program = "paper"

const (
	programHelp = `paper runs the experiments of the Dif-AltGDmin paper on synthetic data, and
draws its figures. Its commands are those of difalt with the same names, which
also trains models on tables.

Exit codes:
    0  success
    1  a file, its content, memory or a disk has a fault
    2  the command line is wrong
    5  the iterations diverged
   70  the program has a fault
  130  interrupted`
	programExamples = `  paper simulate                       a small experiment with a picture
  paper simulate --preset fig1a        figure 1a of the paper
  paper results                        a page about the runs`
)

func main() { cli.Main(newRootCommand) }

func newRootCommand(std *cli.Streams) *cobra.Command {
	root := cli.Program(std, &cobra.Command{
		Use: program, Short: "The experiments of the Dif-AltGDmin paper", Long: programHelp, Example: programExamples,
	})
	cli.Add(std, root, "The paper's algorithm:", experiment.NewSimulate(std, program), experiment.NewResults(std))
	return root
}
