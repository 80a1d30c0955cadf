//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
)

// damagedState spoils the snapshot of a run, or puts another file in its place.
func (s *malformedSources) damagedState(r *rand.Rand) *malformedCase {
	b := spoil(r, s.state)
	if r.IntN(3) == 0 {
		b = pick(r, []byte{}, s.table, s.model, s.problem, make([]byte, 4096), append(bytes.Clone(s.state), s.state...),
			s.state[:len(s.state)-1])
	}
	return &malformedCase{strings.Fields("run --data in.npz --rank 2 --graph complete --iterations 5 --from a.state " +
		"--out out.npz"),
		map[string][]byte{"in.npz": s.problem, "a.state": b}}
}

// damagedCluster puts a value of another kind somewhere into cluster.json, or takes something out.
func (s *malformedSources) damagedCluster(r *rand.Rand) *malformedCase {
	var whole any
	if err := json.Unmarshal(s.cluster, &whole); err != nil {
		panic(err)
	}
	odd := []any{nil, -1, 1.5, 1e300, true, "", "a\nb", []any{}, []any{1}, map[string]any{"a": 1},
		strings.Repeat("y", 3000)}
	b, err := json.MarshalIndent(altered(r, whole, pick(r, odd...)), "", "  ")
	if err != nil {
		panic(err)
	}
	if r.IntN(3) == 0 {
		b = pick(r, []byte{}, b[:len(b)/2], append(b, '}'), []byte("null"), []byte(strings.Repeat("[", 100_000)),
			s.table, s.model)
	}
	return &malformedCase{strings.Fields("node --cluster net.json --key a.key --join-timeout 1ms in.csv"),
		map[string][]byte{"net.json": b, "a.key": s.key, "in.csv": s.table}}
}

// altered returns a value of JSON in which a part is replaced by another value.
func altered(r *rand.Rand, v, by any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && r.IntN(8) > 0 {
			names := []string{}
			for name := range v { // json.Marshal sorts them
				names = append(names, name)
			}
			name := names[r.IntN(len(names))]
			v[name] = altered(r, v[name], by)
			return v
		}
	case []any:
		if len(v) > 0 && r.IntN(3) > 0 {
			i := r.IntN(len(v))
			v[i] = altered(r, v[i], by)
			return v
		}
	}
	return by
}

// craftedArray makes an array of NumPy, or a problem file with one, whose header cannot be.
func (s *malformedSources) craftedArray(r *rand.Rand) *malformedCase {
	shape := pick(r, "(40, 4)", "(40000000000, 4)", "(4294967296, 4294967296)", "(9223372036854775807, 4)", "(-1, 4)",
		"(40,)", "()", "(0, 4)", "(40, 0)",
		"(40, 4, 1)", "(1e3, 4)", "40", "(40, 4", `("a", 4)`, "None")
	kind := pick(r, "'<f8'", "'<f8'", "'<f8'", "'|O'", "'<f99'", "'<U4294967295'", "None", "[('a', '<f8')]", "'>i8'",
		"'<c16'")
	header := fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }", kind, pick(r, "False", "True", "5"),
		shape)
	array := []byte("\x93NUMPY" + pick(r, "\x01\x00", "\x01\x00", "\x01\x00", "\x02\x00", "\x09\x00"))
	array = binary.LittleEndian.AppendUint16(array, uint16(len(header)+1+r.IntN(2)*50_000))
	array = append(array, header+"\n"...)
	for i := range 160 {
		array = binary.LittleEndian.AppendUint64(array, math.Float64bits(float64(i%7)))
	}
	if r.IntN(2) == 0 {
		return &malformedCase{strings.Fields("fit --data in.npy --task c0 --target c3 --rank 0 --no-curves"),
			map[string][]byte{"in.npy": array}}
	}
	name := pick(r, "X", "y", "task", "node", "weights", "U0", "Ustart", "more")
	return &malformedCase{strings.Fields("run --data in.npz --rank 2 --iterations 5 --out out.npz"),
		map[string][]byte{"in.npz": rezipped(s.problem, name+".npy", func([]byte) []byte { return array })}}
}

// craftedModel replaces numbers of an array of a model by impossible ones.
func (s *malformedSources) craftedModel(r *rand.Rand) *malformedCase {
	z, err := zip.NewReader(bytes.NewReader(s.model), int64(len(s.model)))
	if err != nil {
		panic(err)
	}
	by := pick(r, math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e300, -1e300, 5e-324)
	all := r.IntN(2) == 0
	b := rezipped(s.model, z.File[r.IntN(len(z.File))].Name, func(content []byte) []byte {
		start := bytes.IndexByte(content, '\n') + 1
		for at := start; at+8 <= len(content); at += 8 {
			if all || r.IntN(4) == 0 {
				binary.LittleEndian.PutUint64(content[at:], math.Float64bits(by))
			}
		}
		return content[:len(content)-8*r.IntN(2)*r.IntN(2)]
	})
	command := pick(r, "model show model.npz", "predict --model model.npz --out out.csv --standard-errors in.csv",
		"adapt --model model.npz --out out-model.npz in.csv")
	return &malformedCase{strings.Fields(command), map[string][]byte{"model.npz": b, "in.csv": s.table}}
}

// rezipped returns a zip file in which change has changed the content of an entry, which is added if it is
// not there. All checksums are right.
func rezipped(file []byte, name string, change func(content []byte) []byte) []byte {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	w, changed := zip.NewWriter(&out), false
	write := func(name string, content []byte) {
		to, err := w.Create(name)
		if err == nil {
			_, err = to.Write(content)
		}
		if err != nil {
			panic(err)
		}
	}
	for _, e := range z.File {
		in, err := e.Open()
		if err != nil {
			panic(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			panic(err)
		}
		if e.Name == name {
			content, changed = change(content), true
		}
		write(e.Name, content)
	}
	if !changed {
		write(name, change(nil))
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// wideTable makes a table of many columns, of constants, of few values, or of text.
func (s *malformedSources) wideTable(r *rand.Rand) *malformedCase {
	columns, rows := pick(r, 400, 3000, 20_000), pick(r, 1, 3, 12)
	cell := pick(r, func(int, int) string { return "1" }, func(i, j int) string { return fmt.Sprint(i * j % 7) },
		func(i, j int) string { return fmt.Sprint("level", i*j%3) }, func(int, int) string { return "" })
	var b strings.Builder
	b.WriteString("t,y")
	for j := range columns {
		fmt.Fprintf(&b, ",x%d", j)
	}
	for i := range rows {
		fmt.Fprintf(&b, "\na%d,%d", i%3, i*i%5)
		for j := range columns {
			b.WriteString("," + cell(i, j))
		}
	}
	command := pick(r, "fit --task t --target y in.csv",
		"fit --task t --target y --test-fraction 0 --missing mean in.csv", "check --task t in.csv")
	return &malformedCase{strings.Fields(command), map[string][]byte{"in.csv": []byte(b.String())}}
}

// folderInPlace names a folder where a file belongs.
func (s *malformedSources) folderInPlace(r *rand.Rand) *malformedCase {
	files := map[string][]byte{"in.csv": s.table, "model.npz": s.model, "in.npz": s.problem, "net.json": s.cluster,
		"a.key": s.key, "a.state": s.state}
	c := pick(r, malformedPlace{"fit --task t --target y in.csv", "in.csv"}, malformedPlace{"check in.csv", "in.csv"},
		malformedPlace{"predict --model model.npz in.csv", "model.npz"},
		malformedPlace{"model show model.npz", "model.npz"},
		malformedPlace{"run --rank 2 --data in.npz", "in.npz"},
		malformedPlace{"run --rank 2 --data in.npz --from a.state", "a.state"},
		malformedPlace{"run --rank 2 --data in.npz --snapshot a.state", "a.state"},
		malformedPlace{"run --rank 2 --data in.npz --out model.npz", "model.npz"},
		malformedPlace{"node --cluster net.json --key a.key in.csv", "net.json"},
		malformedPlace{"node --cluster net.json --key a.key in.csv", "a.key"},
		malformedPlace{"fit --task t --target y --model model.npz in.csv", "model.npz"},
		malformedPlace{"cluster key --out a.key", "a.key"})
	files[c.folder] = nil
	return &malformedCase{strings.Fields(c.command), files}
}

// A malformedPlace is a command and the name of a folder that it takes for a file.
type malformedPlace struct{ command, folder string }
