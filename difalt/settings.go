package difalt

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
)

// own are the options that may differ between nodes, since results do not depend on them
// but by what their observers do; Privacy.Account is compared by what it has spent.
var own = []string{"Workers", "Observer", "Logger", "Account"}

// Settings returns the options that all nodes must have alike, with defaults in the place
// of zero values; they must be valid. Names are those of the fields, as in
// "Initialization.Rounds", but for those of Agreement.
func (o Options) Settings() []wire.Setting {
	return appendSettings(nil, "", reflect.ValueOf(o.withDefaults()))
}

// appendSettings appends the fields of a struct, and of the structs in it.
func appendSettings(list []wire.Setting, prefix string, v reflect.Value) []wire.Setting {
	for i := range v.NumField() {
		name, field := prefix+v.Type().Field(i).Name, v.Field(i)
		switch {
		case slices.Contains(own, name):
		case name == "Agreement":
			list = append(list, field.Interface().(consensus.Agreement).Settings()...)
		case field.Kind() == reflect.Struct:
			list = appendSettings(list, name+".", field)
		default:
			list = append(list, wire.Setting{Name: name, Value: fmt.Sprint(field.Interface())})
		}
	}
	return list
}

// settings returns all that the nodes must have alike.
func (s *process) settings() []wire.Setting {
	return append(append(s.o.Settings(), networkSettings(s.problem, s.net)...),
		wire.Setting{Name: "U0 of the problem", Value: givenOrNot(s.problem.U0 != nil)},
		wire.Setting{Name: "Start of the problem", Value: givenOrNot(s.problem.Start != nil)},
		wire.Setting{Name: "Moments of the problem", Value: givenOrNot(s.problem.Moments != nil)})
}

// networkSettings returns what is the same in every run of nodes with such data in this network.
func networkSettings(p *Problem, net *consensus.Network) []wire.Setting {
	return []wire.Setting{
		{Name: "the number of features", Value: fmt.Sprint(p.Nodes[0].Features())},
		{Name: "the fingerprint of the mixing weights", Value: fmt.Sprintf("%016x", net.Weights().Fingerprint())},
	}
}

func givenOrNot(given bool) string {
	if given {
		return "given"
	}
	return "not given"
}

// digits returns four numbers below 2^12, which tell lists of settings apart, and their squares.
func digits(settings []wire.Setting) (list []float64) {
	h := fnv.New64a()
	fmt.Fprint(h, settings)
	for sum := h.Sum64(); len(list) < 8; sum >>= 16 {
		v := float64(sum >> 4 & (1<<12 - 1))
		list = append(list, v, v*v)
	}
	return list
}

// alike reports whether all of so many nodes have the same digits, from their sums: the square
// of the sum of v is the number of nodes times the sum of v^2 only if all v are the same. Up to
// some 2^14 nodes all of this is exact.
func alike(sums []float64, nodes int) bool {
	for k := 0; k < len(sums); k += 2 {
		if sums[k]*sums[k] != float64(nodes)*sums[k+1] {
			return false
		}
	}
	return true
}

// nameDifference returns an error that names the first node whose settings are not those of this
// one, and what differs: a *wire.PeerError, since that node may be wrong, or wire.ErrUntrue.
func nameDifference(ctx context.Context, net *consensus.Network, settings []wire.Setting) error {
	own, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	all, err := net.Gather(ctx, slices.Repeat([][]byte{own}, len(net.Hosted())))
	if err != nil {
		return err
	}
	const what = "difalt: the nodes do not run with the same Options and mixing weights"
	for g, text := range all {
		var there []wire.Setting
		_ = json.Unmarshal(text, &there) // what cannot be read is unknown
		if differ := wire.Difference(there, fmt.Sprintf("at node %d", g), settings, "here"); differ != "" {
			return &wire.PeerError{Peer: g, Kind: wire.Refused, Err: fmt.Errorf("%s: %s", what, differ)}
		}
	}
	return fmt.Errorf("%s, though all say that they do: %w", what, wire.ErrUntrue)
}
