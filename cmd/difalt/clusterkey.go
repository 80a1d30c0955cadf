package main

import (
	"crypto/ed25519"
	"fmt"
	"io"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/spf13/cobra"
)

const (
	clusterKeyHelp = `Make a key for a node. The file is for this node only; the line that the command
prints, sha256:..., goes to the author of cluster.json.`
	clusterKeyExamples = `  difalt cluster key --out a.key`
)

// newClusterKey returns the command cluster key.
func newClusterKey(std *cli.Streams) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "key --out FILE",
		Short:   "Make a key for a node, and print its part of cluster.json",
		Long:    clusterKeyHelp,
		Example: clusterKeyExamples,
		RunE:    func(*cobra.Command, []string) error { return runClusterKey(std, out) },
	}
	cmd.Flags().StringVar(&out, "out", "", "write the private key to `FILE`")
	cli.Require(cmd, "out")
	return cmd
}

// runClusterKey writes a private key, and prints its hash: to the standard error if the key goes to the
// standard output.
func runClusterKey(std *cli.Streams, out string) error {
	key, content := cluster.NewKey()
	write, to := cluster.WriteKey, std
	if atomicfile.IsStdout(out) {
		write, to = atomicfile.WriteFile, std.Aside()
	}
	if err := write(out, content); err != nil {
		return cli.OfFlag("out", err)
	}
	report := &keyReport{cli.NewHeader("cluster key"), cluster.PinOf(key.Public().(ed25519.PublicKey))}
	return to.Report(report, func(w io.Writer) { fmt.Fprintln(w, report.Key) })
}

// A keyReport is the report of cluster key.
type keyReport struct {
	cli.Header
	Key cluster.Pin `json:"key"` // hash of the public key
}
