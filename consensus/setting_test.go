package consensus

import "testing"

// TestDifference: the first difference is named with both values, whatever the order.
func TestDifference(t *testing.T) {
	rank, ridge := Setting{"--rank", "2"}, Setting{"--ridge", "1"}
	for _, x := range []struct {
		there, here []Setting
		want        string
	}{
		{nil, nil, ""},
		{[]Setting{rank, ridge}, []Setting{ridge, rank}, ""},
		{[]Setting{{"--rank", "3"}}, []Setting{rank}, "--rank is 3 at node 1, but 2 here"},
		{nil, []Setting{rank}, "there is no --rank at node 1; it is 2 here"},
		{[]Setting{rank, ridge}, []Setting{rank}, "there is no --ridge here; it is 1 at node 1"},
	} {
		if got := Difference(x.there, "at node 1", x.here, "here"); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
