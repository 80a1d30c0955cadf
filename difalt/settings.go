package difalt

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
)

// own are the options that may differ between nodes, since results do not depend on them
// but by what their observers do.
var own = []string{"Workers", "Observer", "Logger"}

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

// settings returns all that the nodes must have alike, but for the number of features.
func (s *process) settings() []wire.Setting {
	h := fnv.New64a()
	w := s.net.Weights()
	for i := range w.Len() {
		for _, j := range w.Graph().Neighbors(i) {
			fmt.Fprint(h, i, j, math.Float64bits(w.At(i, j)))
		}
	}
	return append(s.o.Settings(),
		wire.Setting{Name: "the fingerprint of the mixing weights", Value: fmt.Sprintf("%016x", h.Sum64())},
		wire.Setting{Name: "U0 of the problem", Value: givenOrNot(s.problem.U0 != nil)},
		wire.Setting{Name: "Start of the problem", Value: givenOrNot(s.problem.Start != nil)},
		wire.Setting{Name: "Moments of the problem", Value: givenOrNot(s.problem.Moments != nil)})
}

func givenOrNot(given bool) string {
	if given {
		return "given"
	}
	return "not given"
}

// fingerprint is a number of 52 bits that tells lists of settings apart.
func fingerprint(settings []wire.Setting) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, settings)
	return float64(h.Sum64() >> 12)
}

// nameDifference returns an error that names the first setting that the nodes do not have
// alike, with its values at the nodes with the largest and the smallest fingerprint of it.
func (s *process) nameDifference(ctx context.Context) error {
	const longest = 64 // bytes of a value
	settings := s.settings()
	prints := make([]float64, 0, 2*len(settings))
	for k := range settings {
		p := fingerprint(settings[k : k+1])
		prints = append(prints, p, -p)
	}
	rows := make([][]float64, len(s.hosted))
	maximum := func(row []float64) error {
		for i := range rows {
			rows[i] = slices.Clone(row)
		}
		return s.net.Max(ctx, rows)
	}
	if err := maximum(prints); err != nil {
		return err
	}
	for k, all := 0, rows[0]; k < len(settings); k++ {
		if all[2*k] == -all[2*k+1] {
			continue
		}
		values := make([]float64, 2*longest)
		for side := range 2 {
			if all[2*k+side] == prints[2*k+side] {
				for b, c := range []byte(settings[k].Value[:min(len(settings[k].Value), longest)]) {
					values[side*longest+b] = float64(c)
				}
			}
		}
		if err := maximum(values); err != nil {
			return err
		}
		text := func(codes []float64) []wire.Setting {
			var value []byte
			for _, c := range codes {
				if c != 0 {
					value = append(value, byte(c))
				}
			}
			return []wire.Setting{{Name: settings[k].Name, Value: string(value)}}
		}
		return fmt.Errorf("difalt: the nodes do not run with the same Options, mixing weights and kinds of start: %s",
			wire.Difference(text(rows[0][:longest]), "at one node", text(rows[0][longest:]), "at another"))
	}
	return fmt.Errorf("difalt: the nodes do not run with the same Options and mixing weights")
}
