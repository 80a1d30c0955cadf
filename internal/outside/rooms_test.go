package outside

import (
	"slices"
	"strings"
	"testing"
)

// below lists, for each package of the library, what it must not link: arrows point down only.
var below = map[string][]string{
	"./kernel/...":    {"topology", "consensus", "difalt"},
	"./topology":      {"kernel", "consensus", "difalt"},
	"./consensus/...": {"difalt"},
}

// The library's packages import downwards only, and none of them links the program.
func TestImportsPointDown(t *testing.T) {
	for packages, never := range below {
		for _, dep := range strings.Fields(string(goRun(t, "../..", "list", "-deps", packages))) {
			room, ok := strings.CutPrefix(dep, module+"/")
			room, _, _ = strings.Cut(room, "/")
			if ok && (room == "cmd" || slices.Contains(never, room)) {
				t.Errorf("%s links %s", packages, dep)
			}
		}
	}
}

// The library links three foreign modules, and x/sys behind cpuid.
func TestDependencies(t *testing.T) {
	want := []string{"github.com/klauspost/cpuid/v2", "golang.org/x/sys", "gonum.org/v1/gonum", "gonum.org/v1/netlib"}
	modules := func(args ...string) []string {
		args = append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"}, args...)
		list := strings.Fields(string(goRun(t, "../..", args...)))
		slices.Sort(list)
		return slices.Compact(list)
	}
	for _, m := range modules("-tags", "openblas", "./...") {
		if !slices.Contains(want, m) {
			t.Errorf("the library links %s", m)
		}
	}
	if list := modules("./difalt"); len(list) > 3 {
		t.Errorf("package difalt links %q", list)
	}
}
