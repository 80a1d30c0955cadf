package difalt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// These tests attack a node with all that its neighbours know of it; docs/privacy.md says
// what they find. The victim is the last node of a path of four, a leaf.
const victim = 3

// problemFor returns twelve tasks of 30 rows at each of the other nodes, and some at the
// victim.
func problemFor(tasks, rows, d int) *synthetic {
	s := gaussian(1, 1, d, 36+tasks, 2, func(t int) int {
		if t < 36 {
			return 30
		}
		return rows
	}, 0.1)
	x, y := s.x[0], s.y[0]
	s.x, s.y, s.Nodes = nil, nil, make([]*kernel.Tasks, 4)
	for g := range s.Nodes {
		k := len(x)
		if g < victim {
			k = 12
		}
		s.x, s.y = append(s.x, x[:k]), append(s.y, y[:k])
		x, y = x[k:], y[k:]
	}
	s.rebuild()
	s.Start = kernel.BasisOf(normal(rand.New(rand.NewPCG(1, 80)), d, 2))
	return s
}

// spyOptions has no truncation of responses, and a step that is not damped.
func spyOptions(method difalt.Method, code string, iterations int) difalt.Options {
	codec, err := consensus.ParseCodec(code)
	if err != nil {
		panic(err)
	}
	return difalt.Options{
		Rank: 2, Method: method, Iterations: iterations, Rounds: 3, Initialization: difalt.InitializationOptions{Rounds: 3, PowerIterations: 8, Kappa: 100},
		Scaled: difalt.ScaledOptions{Step: 0.3}, Accelerated: difalt.AcceleratedOptions{Memory: 7}, EveryIteration: true, Workers: 1, Agreement: consensus.Agreement{Codec: codec},
	}
}

// everyMethod runs a test with the options of every method and codec.
func everyMethod(t *testing.T, iterations int, f func(t *testing.T, o difalt.Options)) {
	for _, code := range []string{"none", "int8"} {
		for _, method := range difalt.Methods() {
			t.Run(fmt.Sprint(method, " ", code), func(t *testing.T) { f(t, spyOptions(method, code, iterations)) })
		}
		o := spyOptions(difalt.Accelerated, code, iterations)
		o.Accelerated.Preconditioner = difalt.PreconditionerNone
		t.Run("without preconditioner "+code, func(t *testing.T) { f(t, o) })
	}
}

// uncoded reports whether a run sends float64: servers and DGD have no codec.
func uncoded(o difalt.Options) bool {
	return o.Agreement.Codec == consensus.None || o.Method == difalt.AltGDmin || o.Method == difalt.DGD
}

// A haul is all that a node has sent: the bytes, and the numbers that an attacker makes of
// them.
type haul struct {
	bytes   []byte
	numbers [][]float64
}

func (v *spied) haul(t *testing.T) (h haul) {
	replicas := map[wire.Channel][]float64{}
	for _, x := range v.rounds {
		for _, f := range x.out {
			h.bytes = append(h.bytes, f.raw...)
			if len(f.riding) > 0 {
				h.numbers = append(h.numbers, decode(f.riding[countLen:], headerDigits, headerLow))
			}
			switch {
			case len(f.code) == 0 || f.channel == wire.Keys || f.channel == wire.Count:
			case f.channel >= wire.Sum:
				z, _ := f.collective()
				h.numbers = append(h.numbers, z)
			case f.channel == wire.StreamExact || uncoded(v.o):
				h.numbers = append(h.numbers, float64s(f.code))
			default:
				before := replicas[f.channel]
				if before == nil {
					before = make([]float64, v.d*v.r)
					if f.channel == wire.StreamBasis {
						before = append(before, make([]float64, v.scalars())...)
					}
				}
				after := slices.Clone(before)
				v.hear(t, after, f, f.channel)
				change := slices.Clone(after)
				floats.Sub(change, before)
				h.numbers = append(h.numbers, after, change)
				replicas[f.channel] = after
			}
		}
	}
	return h
}

// resembling returns how near the numbers come to a secret, whatever its scale and sign:
// the largest cosine with as many consecutive numbers.
func (h haul) resembling(secret []float64) (largest float64) {
	norm := floats.Norm(secret, 2)
	for _, v := range h.numbers {
		for i := 0; i+len(secret) <= len(v); i++ {
			window := v[i:][:len(secret)]
			if n := floats.Norm(window, 2); n > 0 {
				largest = max(largest, math.Abs(floats.Dot(window, secret))/(n*norm))
			}
		}
	}
	return largest
}

// contains reports whether numbers are there as float64, or two together as float32.
func (h haul) contains(numbers []float64) bool {
	for i, x := range numbers {
		if bytes.Contains(h.bytes, appendFloats(nil, 64, x)) || i > 0 && bytes.Contains(h.bytes, appendFloats(nil, 32, numbers[i-1], x)) {
			return true
		}
	}
	return false
}

func appendFloats(p []byte, bits int, numbers ...float64) []byte {
	for _, x := range numbers {
		if bits == 64 {
			p = binary.LittleEndian.AppendUint64(p, math.Float64bits(x))
		} else {
			p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(x)))
		}
	}
	return p
}

// guessed is a cosine that a few thousand tries in 30 dimensions do not reach by chance.
const guessed = 0.9

// leaks returns what of the victim's rows, responses and coefficients is in a haul as it
// is, rounded, scaled, or nearly so.
func (v *spied) leaks(h haul) (found []string) {
	rows, coefficients := v.secrets()
	for i, secret := range rows {
		if h.contains(secret) {
			found = append(found, fmt.Sprint("numbers of row ", i))
		}
		if h.resembling(secret) > guessed {
			found = append(found, fmt.Sprint("row ", i))
		}
	}
	for t, b := range coefficients {
		if h.contains(b) {
			found = append(found, fmt.Sprint("coefficients of task ", t))
		}
	}
	return found
}

// secrets returns the rows and the responses of the tasks of the victim, and b_t.
func (v *spied) secrets() (rows, coefficients [][]float64) {
	for t, x := range v.x[v.victim] {
		n, _ := x.Dims()
		for i := range n {
			rows = append(rows, x.RawRowView(i))
		}
		rows = append(rows, v.y[v.victim][t])
		coefficients = append(coefficients, v.result.B[0][t*v.r:][:v.r])
	}
	return rows, coefficients
}

// TestNothingVerbatim looks for data in all bytes that a node sends, and for the same data
// in bytes to which they have been added.
func TestNothingVerbatim(t *testing.T) {
	inFull(t)
	s := problemFor(3, 30, 30)
	everyMethod(t, 3, func(t *testing.T, o difalt.Options) {
		v := spy(t, s, victim, o)
		h := v.haul(t)
		if found := v.leaks(h); found != nil {
			t.Errorf("found %v", found)
		}
		x, y, b := v.x[victim][1].RawRowView(4), v.y[victim][2], v.result.B[0][:2]
		rng := rand.New(rand.NewPCG(1, 2))
		noisy := slices.Clone(x)
		for i := range noisy {
			noisy[i] = -1e-3 * (noisy[i] + 0.2*rng.NormFloat64())
		}
		for name, leaky := range map[string]haul{
			"row":          {h.bytes, append(h.numbers[:len(h.numbers):len(h.numbers)], slices.Concat([]float64{1, 2, 3}, noisy))},
			"responses":    {h.bytes, append(h.numbers[:len(h.numbers):len(h.numbers)], slices.Concat(y, b))},
			"float64":      {appendFloats(h.bytes[:len(h.bytes):len(h.bytes)], 64, x[7]), h.numbers},
			"float32":      {appendFloats(h.bytes[:len(h.bytes):len(h.bytes)], 32, x[7:9]...), h.numbers},
			"coefficients": {appendFloats(h.bytes[:len(h.bytes):len(h.bytes)], 64, b[0]), h.numbers},
		} {
			if v.leaks(leaky) == nil {
				t.Errorf("%s: a leak is not found", name)
			}
		}
	})
}

// TestWarnsOfCoefficients: the log names, once and before anything is sent, the nodes with
// fewer tasks than the rank, if others see sums of b b' that are not of all: in gossip of them,
// and where there are but two nodes.
func TestWarnsOfCoefficients(t *testing.T) {
	plain, tree := consensus.Plain, consensus.Tree
	scaled, none := difalt.PreconditionerScaled, difalt.PreconditionerNone
	for _, c := range []struct {
		method difalt.Method
		by     difalt.Preconditioner
		way    consensus.Polynomial
		every  bool // iteration, and nothing is judged
		rank   int
		nodes  int
		want   string
	}{
		{difalt.ScaledDiffusion, scaled, plain, true, 2, 4, "nodes=[3] rank=2"},
		{difalt.ScaledDiffusion, scaled, tree, false, 2, 4, ""},
		{difalt.GradientTracking, scaled, plain, true, 2, 4, "nodes=[3] rank=2"},
		{difalt.GradientTracking, scaled, plain, true, 1, 4, ""},
		{difalt.AcceleratedTracking, scaled, plain, true, 2, 4, "nodes=[3] rank=2"},
		{difalt.AcceleratedTracking, scaled, tree, false, 2, 4, ""},
		{difalt.Accelerated, scaled, plain, false, 13, 4, `nodes="[0 1 2 3]" rank=13`},
		{difalt.Accelerated, none, plain, false, 2, 4, ""},
		{difalt.DifAltGDmin, scaled, plain, false, 2, 4, ""},
		{difalt.DifAltGDmin, scaled, tree, false, 2, 2, "nodes=[1] rank=2"},
		{difalt.DifAltGDmin, scaled, plain, true, 2, 2, ""},
		{difalt.Accelerated, scaled, tree, true, 2, 2, "nodes=[1] rank=2"},
	} {
		var log bytes.Buffer
		o := difalt.Options{Method: c.method, Accelerated: difalt.AcceleratedOptions{Preconditioner: c.by}, Rank: c.rank, Iterations: 2, EveryIteration: c.every,
			Agreement: consensus.Agreement{Polynomial: c.way}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		s := problemFor(1, 30, 14)
		s.Start, s.Nodes = nil, s.Nodes[4-c.nodes:]
		net := network(t, "path", c.nodes, topology.Metropolis, 1)
		solver, err := difalt.NewSolver(s.Problem, net, o)
		if err != nil {
			t.Fatal(err)
		}
		defer solver.Close()
		if said := log.String(); strings.Contains(said, "give their coefficients away") != (c.want != "") || !strings.Contains(said, c.want) {
			t.Errorf("%+v: the log says %q", c, said)
		}
		if sent := net.Traffic(); sent.Messages != 0 {
			t.Errorf("%d messages were sent before", sent.Messages)
		}
		log.Reset()
		for range 2 {
			if _, err := solver.Step(t.Context()); err != nil && !errors.Is(err, difalt.ErrDiverged) {
				t.Fatal(err)
			}
		}
		if strings.Contains(log.String(), "give their coefficients away") {
			t.Errorf("%+v: it says so again", c)
		}
	}
}
