package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// namedColumns is the most columns that a hint names.
const namedColumns = 10

// withHint adds to an error about a table the option that helps. Commands that apply a model lack the flags
// of [tableOptions.addColumnFlags].
func withHint(err error, hasColumnFlags bool) error {
	format, ok := errors.AsType[*dataset.FormatError](err)
	if !ok {
		return err
	}
	var list []string
	for _, v := range format.Values {
		list = append(list, fmt.Sprintf("--%s %s", strings.ToLower(format.Option), text.ShellWord(v)))
	}
	columns := text.ShellList(format.Values[:min(len(format.Values), namedColumns)]...)
	if len(format.Values) > namedColumns {
		columns += ",..."
	}
	switch format.Option {
	case "Missing":
		help := "--missing drop leaves such rows out"
		if slices.Contains(format.Values, "mean") {
			help += ", --missing mean fills in the mean of the column"
		}
		return fmt.Errorf("%w; %s", err, help)
	case "Categorical":
		list = nil
		if hasColumnFlags {
			list = []string{fmt.Sprintf("--categorical %s for categories", columns), "--drop " + columns}
		}
		if isMark(format.NA) {
			mark := fmt.Sprintf("--na %s for a missing value", text.ShellList(format.NA))
			list = slices.Insert(list, min(1, len(list)), mark)
		}
	case "Drop":
		if !hasColumnFlags {
			return err
		}
		list = []string{"--drop " + columns}
	case "Texts":
		list = []string{"--drop " + columns, fmt.Sprintf("--categorical %s if they are categories", columns)}
	}
	if len(list) == 0 {
		return err
	}
	if n := len(list) - 1; n > 1 {
		list = []string{strings.Join(list[:n], ", "), list[n]}
	}
	return fmt.Errorf("%w; use %s", err, strings.Join(list, " or "))
}
