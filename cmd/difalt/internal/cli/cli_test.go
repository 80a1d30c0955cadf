package cli

import (
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
	} {
		if code := ExitCode(c.err); code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.err, code, c.code)
		}
	}
}

func TestSentence(t *testing.T) {
	for _, text := range []string{"a\nb\tc", "\u202eevil", "two\u2028lines", "\u2029par", strings.Repeat("é", 1e6), strings.Repeat("é ", 1e6), "difalt: x: difalt: y"} {
		s := sentence(errors.New(text))
		if strings.ContainsAny(s, "\n\t\u202e\u2028\u2029") || strings.Contains(s,
			"difalt: ") || len(s) > longestSentence+3 || !utf8.ValidString(s) || s == "" {
			t.Errorf("%.50q: %d bytes: %.100q", text, len(s), s)
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
		if !strings.Contains(cmd.Example, name+" simulate --rounds 1") || strings.Contains(cmd.Example, other+" simulate") {
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
	if builds, stamps := strings.Count(string(file), "go build "), strings.Count(string(file), flag); builds != 2 || stamps != 2 {
		t.Errorf("%d of %d builds in the Dockerfile have %s", stamps, builds, flag)
	}
	defer func(before string) { stamped = before }(stamped)
	if stamped = "v7.8.9"; Version() != "v7.8.9" {
		t.Errorf("the version is %s", Version())
	}
}
