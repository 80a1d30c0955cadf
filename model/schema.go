package model

import (
	"fmt"
	"slices"
	"strings"
)

// A Schema says how the columns of a file become the features of a table, so that
// other files can be read to the same features. It can be stored as JSON.
type Schema struct {
	// Columns are the feature columns in their order.
	Columns []string `json:"columns"`
	// Categories are the levels of the categorical ones among them.
	Categories []Category `json:"categories,omitempty"`
}

// A Category is a categorical column and its levels.
type Category struct {
	Column string   `json:"column"`
	Levels []string `json:"levels"`
}

// Levels returns the levels of a column, and whether it is categorical.
func (s *Schema) Levels(column string) (levels []string, categorical bool) {
	for i := range s.Categories {
		if s.Categories[i].Column == column {
			return s.Categories[i].Levels, true
		}
	}
	return nil, false
}

// Features returns the names of the features: that of a column of numbers, and
// "column=level" for every level of a categorical column.
func (s *Schema) Features() []string {
	var names []string
	for _, column := range s.Columns {
		levels, ok := s.Levels(column)
		if !ok {
			names = append(names, column)
		}
		for _, level := range levels {
			names = append(names, column+"="+level)
		}
	}
	return names
}

// Validate refuses categories without levels and columns that have two.
func (s *Schema) Validate() error {
	seen := map[string]bool{}
	for _, c := range s.Categories {
		if seen[c.Column] {
			return fmt.Errorf("the schema has two categories for column %q", c.Column)
		}
		seen[c.Column] = true
		if len(c.Levels) == 0 {
			return fmt.Errorf("the schema has no levels for column %q", c.Column)
		}
	}
	return nil
}

// clone returns a copy that shares no memory with s.
func (s *Schema) clone() Schema {
	c := Schema{Columns: slices.Clone(s.Columns)}
	for _, k := range s.Categories {
		c.Categories = append(c.Categories, Category{k.Column, slices.Clone(k.Levels)})
	}
	return c
}

// A categorical says, in the header of a model file, which features are the levels
// of a column.
type categorical struct {
	Column string `json:"column"`
	First  int    `json:"first"` // feature
	Levels int    `json:"levels"`
}

// categoricals returns the categorical columns of a schema.
func categoricals(s *Schema) (out []categorical) {
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
func schemaOf(features []string, list []categorical) (s Schema, err error) {
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
		s.Categories = append(s.Categories, Category{Column: c.Column, Levels: levels})
		at = c.First + c.Levels
	}
	s.Columns = append(s.Columns, features[at:]...)
	return s, nil
}
