package grpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/difalt/difalt/internal/check"
)

func FuzzHandshake(f *testing.F) {
	c := newParty(f, "ring", 3).c
	own := &handshake{Version: protocolVersion, Run: c.Run, From: 0, To: 1, Instance: "x", Settings: c.Settings()}
	their := *own
	their.From, their.To = 1, 0
	text := check.OK(json.Marshal(their))
	f.Add(text)
	f.Add([]byte(`{"instance":"x","settings":null}`))
	f.Add([]byte(`{"bye":true,"reason":{"node":-1,"kind":255,"text":"x"}}`))
	f.Add([]byte(`{"waits_for":[1,2]}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		if n, err := parseNote(p); err == nil && n.Reason != nil && len(n.Reason.Text) > maxText+3 {
			t.Errorf("a reason of %d bytes", len(n.Reason.Text))
		}
		h, err := parseHandshake(p)
		if err != nil {
			return
		}
		if len(h.Instance) > 64 {
			t.Errorf("an instance of %d bytes", len(h.Instance))
		}
		err = disagree(c, own, h)
		var r *refusal
		if err != nil && !errors.As(err, &r) {
			t.Errorf("a difference is no refusal: %v", err)
		}
		if err == nil && (h.Run != c.Run || h.From != 1 || h.To != 0) {
			t.Errorf("welcome: %s", p)
		}
	})
}

// TestDisagree: a handshake from another node, or to another node, is refused with the names of both, and one
// that is damaged is none.
func TestDisagree(t *testing.T) {
	c := newParty(t, "ring", 3).c
	own := &handshake{Version: protocolVersion, Run: c.Run, From: 0, To: 1, Settings: c.Settings()}
	for _, x := range []struct {
		from, to, version int
		want              string
	}{
		{1, 0, protocolVersion, ""},
		{2, 0, protocolVersion, `node 1 ("b") claims to be node 2, connected with node 0`},
		{1, 2, protocolVersion, `node 1 ("b") claims to be node 1, connected with node 2`},
		{-1, 9, protocolVersion, "claims to be node -1, connected with node 9"},
		{1, 0, 4, `the version of the protocol is 4 at node 1 ("b"), but 8 at node 0 ("a")`},
	} {
		err := disagree(c, own,
			&handshake{Version: x.version, Run: c.Run, From: x.from, To: x.to, Settings: c.Settings()})
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
	for _, text := range []string{
		`{"instance":"x","from":"y"}`, `{"instance":""}`, `{"instance":"x"`,
		fmt.Sprintf(`{"instance":"%065d"}`, 0),
	} {
		if h, err := parseHandshake([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, h)
		}
	}
	if s := shorten(strings.Repeat("\u20ac", maxText)); !utf8.ValidString(s) || len(s) < maxText || len(s) > maxText+3 {
		t.Errorf("a long text is cut to %q", s)
	}
}
