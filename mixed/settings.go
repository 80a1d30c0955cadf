package mixed

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/difalt/difalt/consensus"
)

// protocol numbers the totals that owners exchange, their order, and what follows from them. Builds with the
// same number train together, whatever their versions; others refuse each other. A change of Fit that an
// older build would not follow step by step takes the next number.
const protocol = 18

// Settings lists the protocol, the options, and the names and kinds of the columns of a table, in any order.
// All owners who train together must have equal settings; the caller of [Together] compares them before. p is
// nil but for [Privately].
func Settings(t Table, o *Options, p *Privacy) (list []consensus.Setting) {
	add := func(name string, value any) {
		text, _ := json.Marshal(value) // texts and numbers
		list = append(list, consensus.Setting{Name: name, Value: strings.Trim(string(text), `"`)})
	}
	add("protocol of the training", protocol)
	add("target", o.TargetColumn)
	add("task", o.TaskColumn)
	add("rank", o.Rank)
	add("logarithm of the target", o.LogTarget)
	add("curves left out", o.NoCurves)
	add("common noise", o.CommonNoise)
	add("differential privacy", p)
	s := t.Schema()
	if p != nil { // with levels, columns come as in the tables
		add("order of the columns", s.Columns)
	}
	byColumn := s.byColumn()
	for _, name := range s.Columns {
		kind := "numbers"
		if levels, coded := byColumn[name]; coded {
			kind = "levels"
			if p != nil { // levels are public then, and equal
				kind = fmt.Sprintf("levels of digest %.8x", sha256.Sum256(fmt.Appendf(nil, "%q", levels)))
			}
		}
		add("column "+strconv.Quote(name), kind)
	}
	return list
}
