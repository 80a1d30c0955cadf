package grpc

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNobodyElseLinksThis: a program that embeds the algorithm or a model does not link
// gRPC; the engine has to be asked for.
func TestNobodyElseLinksThis(t *testing.T) {
	const own = "github.com/difalt/difalt/"
	var packages []string
	for _, name := range []string{"kernel", "topology", "consensus", "consensus/wire", "consensus/collective", "difalt", "dataset", "model", "fit"} {
		packages = append(packages, own+name)
	}
	out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	list := strings.Fields(string(out))
	for _, path := range list {
		if strings.HasPrefix(path, own+"engine") || strings.HasPrefix(path, "google.golang.org/grpc") {
			t.Errorf("one of %q depends on %s", packages, path)
		}
	}
	if len(list) < 50 {
		t.Errorf("go list names %d packages: %s", len(list), out)
	}
}
