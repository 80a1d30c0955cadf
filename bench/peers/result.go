//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// A result is what was measured on one machine, as it is stored in
// bench/results/NAME.json and reported in BENCHMARKS.md.
type result struct {
	Machine machine      `json:"machine"`
	Stolen  string       `json:"steal,omitempty"` // share of the processors' time meanwhile
	Peers   []comparison `json:"peers"`
}

// A comparison is one interleaved run of all peers on a shape.
type comparison struct {
	Shape   string     `json:"shape"`
	Threads int        `json:"threads"`
	ReadMS  float64    `json:"read_ms"` // streaming read of X
	FMAMS   float64    `json:"fma_ms"`  // the arithmetic at the peak of multiply-adds
	Peers   []peerTime `json:"peers"`
}

// roofMS is the roofline: the longer of the two times below which no peer can come.
func (c comparison) roofMS() float64 { return max(c.ReadMS, c.FMAMS) }

// A peerTime is the time of one peer. Ratio is to the default build of difalt in
// the same turns. If Absent is not empty the peer was not measured, and why.
type peerTime struct {
	Name    string  `json:"name"`
	Version string  `json:"version,omitempty"`
	MS      float64 `json:"ms,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"`
	Absent  string  `json:"absent,omitempty"`
}

// peer returns the time of a peer, zero if the comparison does not have it.
func (c comparison) peer(name string) peerTime {
	for _, p := range c.Peers {
		if p.Name == name {
			return p
		}
	}
	return peerTime{}
}

// loadResult reads a stored result; a file that does not exist is an empty one.
func loadResult(path string) (*result, error) {
	var r result
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return &r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// update stores comparisons in a folder, in place of those of the same shape and threads on
// this machine, and returns the file. The machine's name is made up if it is "auto".
func update(folder, name, stolen string, all []comparison) (path string, err error) {
	machine := thisMachine()
	if name != "auto" {
		machine.Name = name
	}
	path = filepath.Join(folder, machine.Name+".json")
	r, err := loadResult(path)
	if err != nil {
		return path, err
	}
	r.Machine = machine
	if stolen != "" {
		r.Stolen = stolen
	}
	for _, c := range all {
		same := func(o comparison) bool { return o.Shape == c.Shape && o.Threads == c.Threads }
		if i := slices.IndexFunc(r.Peers, same); i >= 0 {
			r.Peers[i] = c
		} else {
			r.Peers = append(r.Peers, c)
		}
	}
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return path, err
	}
	return path, os.WriteFile(path, append(data, '\n'), 0o644)
}
