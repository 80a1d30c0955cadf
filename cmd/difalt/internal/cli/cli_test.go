package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/fault"
	"github.com/spf13/cobra"
)

func TestExitCodes(t *testing.T) {
	peer := &transport.PeerError{}
	for _, c := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("x"), ExitFailure},
		{Usagef("x"), ExitUsage},
		{peer, ExitPeer},
		{fmt.Errorf("x: %w", consensus.ErrInconsistent), ExitPeer},
		{fmt.Errorf("x: %w", consensus.ErrContradiction), ExitPeer},
		{errors.Join(peer, Interrupted("x")), ExitInterrupted},
		{Unconverged("x"), ExitUnconverged},
		{difalt.ErrDiverged, ExitUnconverged},
		{fmt.Errorf("x: %w", fault.Of("y")), ExitFault},
	} {
		if code := ExitCode(c.err); code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.err, code, c.code)
		}
	}
}

func TestSentence(t *testing.T) {
	for _, text := range []string{
		"a\nb\tc", "\u202eevil", "two\u2028lines", "\u2029par", strings.Repeat("é", 1e6),
		strings.Repeat("é ", 1e6), "difalt: x: difalt: y",
	} {
		s := sentence(errors.New(text))
		if strings.ContainsAny(s, "\n\t\u202e\u2028\u2029") || strings.Contains(s,
			"difalt: ") || len(s) > longestSentence+3 || !utf8.ValidString(s) || s == "" {
			t.Errorf("%.50q: %d bytes: %.100q", text, len(s), s)
		}
	}
}

// A panic of a command, in its goroutine or in that of its work, ends the program with its own exit code. The
// standard error has the stack, in JSON, too.
func TestPanics(t *testing.T) {
	crash := func() error { panic("a mistake") }
	for name, run := range map[string]func(*cobra.Command, []string) error{
		"command": func(*cobra.Command, []string) error { return crash() },
		"work":    func(cmd *cobra.Command, _ []string) error { return UntilCanceled(cmd.Context(), crash) },
	} {
		program := func(std *Streams) *cobra.Command {
			return Program(std, &cobra.Command{Use: "difalt", RunE: run})
		}
		for _, args := range [][]string{nil, {"--json"}} {
			var stdout, stderr bytes.Buffer
			code := Run(t.Context(), program, args, &stdout, &stderr)
			said := stderr.String()
			var o errorObject
			if err := json.Unmarshal(stderr.Bytes(), &o); args != nil {
				said = o.Error.Message + "\n" + o.Error.Stack
				if err != nil {
					t.Error(err)
				}
			}
			if code != ExitFault || !strings.Contains(said, "the program has a fault: a mistake\n") ||
				!strings.Contains(said, "cli_test.go") {
				t.Errorf("%s %q: exit code %d: %s", name, args, code, stderr.String())
			}
		}
	}
}

// The help of a command names the program that it belongs to.
func TestProgramInHelp(t *testing.T) {
	for _, name := range []string{"difalt", "paper"} {
		std := &Streams{}
		root := Program(std, &cobra.Command{Use: name})
		cmd := &cobra.Command{Use: "simulate", Example: "difalt simulate --rounds 1"}
		Add(std, root, "All:", cmd)
		other := map[string]string{"difalt": "paper", "paper": "difalt"}[name]
		if !strings.Contains(cmd.Example, name+" simulate --rounds 1") ||
			strings.Contains(cmd.Example, other+" simulate") {
			t.Errorf("%s: %s", name, cmd.Example)
		}
	}
}

// The images stamp the variable that Version reads: the linker says nothing about one that is not there.
func TestStampOfImages(t *testing.T) {
	file, err := os.ReadFile("../../../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	flag := "-X " + reflect.TypeFor[Streams]().PkgPath() + ".stamped=$VERSION"
	builds, stamps := strings.Count(string(file), "go build "), strings.Count(string(file), flag)
	if builds != 2 || stamps != 2 {
		t.Errorf("%d of %d builds in the Dockerfile have %s", stamps, builds, flag)
	}
	defer func(before string) { stamped = before }(stamped)
	if stamped = "v7.8.9"; Version() != "v7.8.9" {
		t.Errorf("the version is %s", Version())
	}
}
