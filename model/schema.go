package model

import (
	"fmt"
	"strings"

	"github.com/difalt/difalt/dataset/schema"
)

// A categorical says, in the header of a model file, which features are the levels
// of a column.
type categorical struct {
	Column string `json:"column"`
	First  int    `json:"first"` // feature
	Levels int    `json:"levels"`
}

// categoricals returns the categorical columns of a schema.
func categoricals(s *schema.Schema) (out []categorical) {
	first := 0
	for _, column := range s.Columns {
		n := 1
		if levels, ok := s.Levels(column); ok {
			n = len(levels)
			out = append(out, categorical{column, first, n})
		}
		first += n
	}
	return out
}

// schemaOf is the inverse of categoricals: it finds the levels in the names of the
// features.
func schemaOf(features []string, list []categorical) (s schema.Schema, err error) {
	at := 0
	for _, c := range list {
		if c.First < at || c.Levels < 1 || c.Levels > len(features)-c.First {
			return s, fmt.Errorf("the model's header says that features %d to %d of %d are levels of column %q", c.First, c.First+c.Levels-1, len(features), c.Column)
		}
		s.Columns = append(s.Columns, features[at:c.First]...)
		levels := make([]string, c.Levels)
		for i := range levels {
			name := features[c.First+i]
			level, ok := strings.CutPrefix(name, c.Column+"=")
			if !ok {
				return s, fmt.Errorf("array %q: entry %d is %q: want a level of column %q", "feature", c.First+i, name, c.Column)
			}
			levels[i] = level
		}
		s.Columns = append(s.Columns, c.Column)
		s.Categories = append(s.Categories, schema.Category{Column: c.Column, Levels: levels})
		at = c.First + c.Levels
	}
	s.Columns = append(s.Columns, features[at:]...)
	return s, nil
}
