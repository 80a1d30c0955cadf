package main

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/spf13/cobra"
)

// Every command has a manual page with its flags, every shell a completion, and the same program writes the
// same bytes again.
func TestGenerate(t *testing.T) {
	dir := t.TempDir()
	must(t, "generate", "--out", dir)
	files := folder(t, filepath.Join(dir, "man"))
	maps.Copy(files, folder(t, filepath.Join(dir, "completions")))
	visit(newRootCommand(&cli.Streams{}), nil, func(cmd *cobra.Command, path []string) {
		if cmd.Hidden || len(path) > 0 && (path[0] == "completion" || path[0] == "help") {
			return
		}
		page := string(files[filepath.Join(dir, "man", strings.Join(append([]string{program}, path...), "-")+".1")])
		if !strings.Contains(page, ".TH") || !strings.Contains(page, cmd.Short) {
			t.Errorf("the page of %q is %.200q", path, page)
		}
	})
	for _, name := range []string{"difalt.bash", "difalt.zsh", "difalt.fish", "difalt.ps1"} {
		if !bytes.Contains(files[filepath.Join(dir, "completions", name)], []byte(program)) {
			t.Errorf("%s is empty: %q", name, slices.Sorted(maps.Keys(files)))
		}
	}
	again := t.TempDir()
	must(t, "generate", "--out", again)
	for path, content := range folder(t, filepath.Join(again, "man")) {
		if name, _ := filepath.Rel(again, path); !bytes.Equal(content, files[filepath.Join(dir, name)]) {
			t.Errorf("%s differs the second time", name)
		}
	}
}

// Shells complete the values of flags that have a list of words, folders and files where a flag or an
// argument names one, and nothing where the value is a number or a text.
func TestCompletion(t *testing.T) {
	for command, directive := range map[string]cobra.ShellCompDirective{
		"fit --rank": cobra.ShellCompDirectiveNoFileComp, "fit --task": cobra.ShellCompDirectiveNoFileComp,
		"fit --report": cobra.ShellCompDirectiveFilterDirs, "fit --model": cobra.ShellCompDirectiveDefault,
		"check": cobra.ShellCompDirectiveDefault, "info": cobra.ShellCompDirectiveNoFileComp,
	} {
		stdout, _, _ := difaltCommand(t, append(append([]string{"__complete"}, strings.Fields(command)...), "")...)
		if want := fmt.Sprintf(":%d\n", directive); stdout != want {
			t.Errorf("%s: %q, want %q", command, stdout, want)
		}
	}
	for _, c := range []struct{ flag, want string }{
		{"fit --missing", "refuse drop mean"}, {"run --method", "dif altgdmin dec dgd accelerated"},
		{"node --engine", "grpc mpi"},
		{"predict --dates", "ymd dmy mdy"}, {"info --log-level", "info debug warn error"},
	} {
		stdout, _, code := difaltCommand(t, append(append([]string{"__complete"}, strings.Fields(c.flag)...), "")...)
		words := strings.Fields(stdout)
		if code != 0 || len(words) < 1 || strings.Join(words[:len(words)-1], " ") != c.want {
			t.Errorf("%s: exit code %d: %q", c.flag, code, stdout)
		}
	}
}
