package cli

import (
	"bytes"
	"math"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// The fields of a report come in the order of its struct, those of an embedded struct where it stands;
// numbers that JSON lacks are null, and nil lists and maps are empty.
func TestWriteJSON(t *testing.T) {
	type inner struct {
		Zeta  float64 `json:"zeta"`
		Alpha string  `json:"alpha"`
	}
	type report struct {
		Header
		Zoo    []inner        `json:"zoo"`
		None   []string       `json:"none"`
		Counts map[string]int `json:"counts"`
		Left   []int          `json:"left,omitempty"`
		inner
		Pointer *inner   `json:"pointer"`
		Number  *float64 `json:"number,omitempty"`
		Hidden  int      `json:"-"`
		Untold  int
	}
	var out bytes.Buffer
	r := &report{Header: Header{1, "v1", "x"}, Zoo: []inner{{math.NaN(), "a\"<"}, {math.Inf(1), ""}}, Left: []int{},
		Hidden: 3}
	check.Done(writeJSON(&out, r))
	const want = `{
  "schema": 1,
  "version": "v1",
  "command": "x",
  "zoo": [
    {
      "zeta": null,
      "alpha": "a\"\u003c"
    },
    {
      "zeta": null,
      "alpha": ""
    }
  ],
  "none": [],
  "counts": {},
  "zeta": 0,
  "alpha": "",
  "pointer": null
}
`
	check.FailIf(t, out.String() != want, "%s", out.String())
}
