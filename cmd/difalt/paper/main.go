// The paper command has the commands of difalt for the paper's experiments: simulate and results. It builds
// in a fraction of the time, since it links neither networks nor formats of tables.
package main

import (
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/experiment"
)

// program is the name of the command.
const program = "paper"

func main() {
	root := cli.Program(program, "The experiments of the Dif-AltGDmin paper")
	cli.Add(root, "The paper's algorithm:", experiment.Simulate(program), experiment.Results())
	cli.Main(root)
}
