package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

const (
	generateHelp = `Write the manual page of every command, and the completions of bash, zsh, fish
and PowerShell. The archives of a release contain them.`
	generateExamples = `  difalt generate --out share
  man -l share/man/difalt-fit.1
  . share/completions/difalt.bash`
)

// newGenerate returns the command that writes manual pages and completions, which releases contain.
func newGenerate(std *cli.Streams) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "generate --out DIR",
		Short:   "Write manual pages and completions of shells",
		Long:    generateHelp,
		Example: generateExamples,
		RunE:    func(*cobra.Command, []string) error { return runGenerate(std, out) },
	}
	cmd.Flags().StringVar(&out, "out", "", "write to the folders man and completions in the folder `DIR`")
	cli.Require(cmd, "out")
	return cmd
}

// runGenerate writes the pages and the completions.
func runGenerate(std *cli.Streams, out string) error {
	files, err := generated()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFolder(out, files); err != nil {
		return cli.OfFlag("out", err)
	}
	report := &generateReport{cli.NewHeader("generate"), out, len(files)}
	return std.Report(report, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", out, text.Plural(len(files), "file")) })
}

// A generateReport is the report of generate.
type generateReport struct {
	cli.Header
	Out   string `json:"out"`
	Files int    `json:"files"`
}

// generated returns the manual page of every command, and the completions of every shell, by their paths.
func generated() (map[string]atomicfile.Content, error) {
	root, files := newRootCommand(&cli.Streams{}), map[string]atomicfile.Content{}
	root.InitDefaultHelpCmd()
	for shell, write := range map[string]func(io.Writer) error{
		"bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":  root.GenZshCompletion, "ps1": root.GenPowerShellCompletionWithDesc,
		"fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		var content bytes.Buffer
		if err := write(&content); err != nil {
			return nil, err
		}
		files[filepath.Join("completions", program+"."+shell)] = atomicfile.Bytes(content.Bytes())
	}
	header := &doc.GenManHeader{Title: "DIFALT", Section: "1", Source: program + " " + cli.Version(), Date: built()}
	var pages func(cmd *cobra.Command) error
	pages = func(cmd *cobra.Command) error {
		cmd.DisableAutoGenTag = true
		var content bytes.Buffer
		if err := doc.GenMan(cmd, header, &content); err != nil {
			return err
		}
		name := ""
		for c := cmd; c != nil; c = c.Parent() {
			name = "-" + c.Name() + name
		}
		files[filepath.Join("man", name[1:]+".1")] = atomicfile.Bytes(content.Bytes())
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				if err := pages(sub); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return files, pages(root)
}

// built returns the time of the commit that the program was built from, nil if that is unknown. The pages
// have this time, so that their bytes depend on the commit and not on the day.
func built() *time.Time {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				return &t
			}
		}
	}
	return nil
}
