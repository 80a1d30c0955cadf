package grpc

import (
	"encoding/json"
	"errors"
	"testing"
)

func FuzzHello(f *testing.F) {
	c := newParty(f, "ring", 3).c
	own := &hello{Version: protocolVersion, Run: c.Run, From: 0, To: 1, Instance: "x", Settings: c.Settings()}
	their := *own
	their.From, their.To = 1, 0
	text := must(json.Marshal(their))
	f.Add(text)
	f.Add([]byte(`{"instance":"x","terms":null}`))
	f.Add([]byte(`{"bye":true,"reason":{"node":-1,"kind":255,"text":"x"}}`))
	f.Add([]byte(`{"waits_for":[1,2]}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		if n, err := parseNote(p); err == nil && n.Reason != nil && len(n.Reason.Text) > maxText+3 {
			t.Errorf("a reason of %d bytes", len(n.Reason.Text))
		}
		h, err := parseHello(p)
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
