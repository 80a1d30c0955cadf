package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

// TestCompose: the file is one of Compose, and the commands of its services train on this
// machine, on the files that the comment says to make.
func TestCompose(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "compose.yaml")
	text := read(t, "deploy/compose.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	options, err := cli.NewProjectOptions([]string{path}, cli.WithName("difalt"), cli.WithEnv([]string{"DIFALT_USER=1000:1000"}))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, "cluster", "new", "--nodes", "a=a:7001,b=b:7001,c=c:7001", "--graph", "ring", "--out", filepath.Join(folder, "keys"))
	if !strings.Contains(text, "difalt cluster new --nodes a=a:7001,b=b:7001,c=c:7001 --graph ring --out deploy/keys") {
		t.Error("the comment says something else")
	}
	var containers []*container
	for _, name := range project.ServiceNames() {
		s := project.Services[name]
		if s.User != "1000:1000" || !s.ReadOnly || s.Image != "difalt" {
			t.Errorf("%s: user %q, image %q", name, s.User, s.Image)
		}
		// The image asks by itself whether it is healthy: TestCommands looks at that.
		c := &container{name: name, args: s.Command, mounts: map[string]string{},
			health: []string{"cluster", "health", "--cluster=/etc/difalt/cluster.json", "--key=/etc/difalt/node.key"}}
		for _, v := range s.Volumes {
			c.mounts[v.Target] = v.Source
		}
		if err := os.Mkdir(c.mounts["/data"], 0o777); err != nil {
			t.Fatal(err)
		}
		containers = append(containers, c)
	}
	rehearse(t, filepath.Join(folder, "keys", "cluster.json"), containers)
}
