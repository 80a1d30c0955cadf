package difalt

import (
	"reflect"
	"slices"
	"testing"
)

// TestSettings: every option is a setting that all nodes need alike, or is documented as local to a process.
func TestSettings(t *testing.T) {
	local := []string{"Average", "Workers", "Observer", "Logger"}
	var names []string
	for _, s := range (Options{}).Settings() {
		names = append(names, s.Name)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Options]()) {
		if slices.Contains(local, f.Name) == slices.Contains(names, f.Name) {
			t.Errorf("%s is no setting and not local, or both", f.Name)
		}
	}
	if all := reflect.TypeFor[Options]().NumField(); len(names)+len(local) != all {
		t.Errorf("%d settings and %d local options of %d fields", len(names), len(local), all)
	}
}
