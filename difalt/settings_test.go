package difalt_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// TestSettings: every field of Options is a setting, but for those of which results do not
// depend, and other values make other settings.
func TestSettings(t *testing.T) {
	o := difalt.Options{Rank: 2}
	want := o.Settings()
	own := []string{"Workers", "Observer", "Logger"}
	var check func(v reflect.Value, name string)
	check = func(v reflect.Value, name string) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if field := name + v.Type().Field(i).Name; !slices.Contains(append(own, "Agreement.RoundByRound"), field) {
					check(v.Field(i), field+".")
				}
			}
			return
		case reflect.Int:
			v.SetInt(v.Int() + 3)
		case reflect.Uint8, reflect.Uint64:
			v.SetUint(1)
		case reflect.Float64:
			v.SetFloat(0.25)
		case reflect.Bool:
			v.SetBool(true)
		default: // the codec
			v.Set(reflect.ValueOf(consensus.Int8))
		}
		if slices.Equal(o.Settings(), want) {
			t.Errorf("%s is no setting", name)
		}
		v.SetZero()
		o.Rank = 2
	}
	check(reflect.ValueOf(&o).Elem(), "")
}

// TestNodesThatDiffer: processes that run with other options are told in which.
func TestNodesThatDiffer(t *testing.T) {
	s := gaussian(1, 4, 12, 20, 2, fixed(15), 0)
	w := network(t, "ring", 4, topology.Metropolis, 1).Weights()
	groups := together(4, 2)
	transports, err := testnet.Connect(w.Graph(), groups, testnet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, errs := apart(t, s.Problem, w, groups, transports, func(k int) difalt.Options {
		return difalt.Options{Rank: 2, Rounds: 3 + k}
	})
	for k, want := range []string{"Rounds is 4 at node 2, but 3 here", "Rounds is 3 at node 0, but 4 here"} {
		var peer *wire.PeerError // no failure of its own
		if err := errs[k]; err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &peer) || peer.Peer != 2-2*k || peer.Kind != wire.Refused {
			t.Errorf("process %d: %v", k, err)
		}
	}
}

// TestOptionsDiffer starts nodes that do not want the same: all of them are told, however large or
// small the data are that are added up in the same message.
func TestOptionsDiffer(t *testing.T) {
	const nodes = 4
	w := network(t, "path", nodes, topology.Metropolis, 1).Weights()
	groups := together(nodes, nodes)
	for _, size := range []float64{1, 1e30, 1e100, 1e-100} {
		s := gaussian(1, nodes, 12, 16, 2, fixed(15), 0.01)
		rescale(s.Problem, size, size)
		transports, err := testnet.Connect(w.Graph(), groups, testnet.Options{RoundTimeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_, errs := apart(t, s.Problem, w, groups, transports, func(k int) difalt.Options {
			o := difalt.Options{Rank: 2}
			if k == 2 {
				o.Ridge = 0.1
			}
			return o
		})
		for k, err := range errs {
			if err == nil || !strings.Contains(err.Error(), "do not run with the same Options") {
				t.Errorf("data of size %g: node %d runs with other options than node 2: %v", size, k, err)
			}
		}
	}
}

// TestUnknownMethod: what is no method does not agree, and has settings, which tell it from others.
func TestUnknownMethod(t *testing.T) {
	unknown := difalt.Method(200)
	if unknown.Agrees() {
		t.Error("Method(200) agrees")
	}
	if list := (difalt.Options{Method: unknown}).Settings(); !slices.Contains(list, wire.Setting{Name: "Method", Value: "Method(200)"}) {
		t.Errorf("settings %v", list)
	}
}
