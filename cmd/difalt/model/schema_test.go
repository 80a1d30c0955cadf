package model

import (
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
)

// The header and the names of the features must give every schema back, also one in
// which a column of numbers is named like a level.
func TestSchemaRoundTrip(t *testing.T) {
	for _, s := range []schema.Schema{
		{Columns: []string{"a", "b"}},
		{Columns: []string{"a", "site", "b"}, Categories: []schema.Category{{Column: "site", Levels: []string{"p", "q=r", ""}}}},
		{
			Columns:    []string{"site=x", "site", "k", "site=y"},
			Categories: []schema.Category{{Column: "site", Levels: []string{"p"}}, {Column: "k", Levels: []string{"1", "2"}}},
		},
	} {
		got, err := schemaOf(s.Features(), categoricals(&s))
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%+v became %+v, %v", s, got, err)
		}
	}
	for _, c := range []struct {
		list []categorical
		want string
	}{
		{[]categorical{{"site", 1, 5}}, "features 1 to 5 of 3"},
		{[]categorical{{"site", -1, 1}}, "features -1"},
		{[]categorical{{"site", 1, 0}}, "of 3"},
		{[]categorical{{"site", 1, 2}}, `entry 2 is "b"`},
		{[]categorical{{"site", 1, 1}, {"site", 1, 1}}, "features 1 to 1"},
	} {
		_, err := schemaOf([]string{"a", "site=p", "b"}, c.list)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.list, err, c.want)
		}
	}
}
