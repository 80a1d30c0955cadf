package outside

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPrivacyNamesTests: every test that docs/privacy.md names exists, in the packages that it
// speaks of.
func TestPrivacyNamesTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/privacy.md")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, folder := range []string{"difalt", "fit", "fit/internal/evidence", "fit/internal/nodes", "consensus", "consensus/collective", "consensus/private", "engine/grpc", "internal/pads", "internal/noise", "internal/testnet", "cmd/difalt"} {
		files, err := os.ReadDir("../../" + folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), "_test.go") {
				p, err := os.ReadFile("../../" + folder + "/" + f.Name())
				if err != nil {
					t.Fatal(err)
				}
				source.Write(p)
			}
		}
	}
	names := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 15 {
		t.Errorf("found %d names of tests", len(names))
	}
	for _, m := range names {
		if !strings.Contains(source.String(), "func "+m[1]+"(") {
			t.Errorf("docs/privacy.md names %s, which does not exist", m[1])
		}
	}
}
