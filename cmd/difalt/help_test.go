package main

import (
	"regexp"
	"testing"

	"github.com/difalt/difalt/consensus"
)

// TestHelpNamesWhatIsAccepted parses every codec and polynomial that the help of a
// command offers, and looks for every polynomial there is.
func TestHelpNamesWhatIsAccepted(t *testing.T) {
	codec := regexp.MustCompile(`\b(none|float\d+|int\d+|topk|int\d+:\w+)\b`)
	seen := 0
	for _, cmd := range newRootCommand().Commands() {
		if f := cmd.Flags().Lookup("compress"); f != nil {
			for _, name := range codec.FindAllString(f.Usage, -1) {
				seen++
				if _, err := consensus.ParseCodec(name); err != nil {
					t.Errorf("%s --compress offers %q: %v", cmd.Name(), name, err)
				}
			}
		}
		if f := cmd.Flags().Lookup("agree"); f != nil {
			for _, p := range []consensus.Polynomial{consensus.Plain, consensus.Chebyshev, consensus.Tree} {
				if !regexp.MustCompile(`\b` + p.String() + `\b`).MatchString(f.Usage) {
					t.Errorf("%s --agree does not offer %v", cmd.Name(), p)
				}
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d names of codecs in the help of all commands", seen)
	}
}
