package simulation

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// appendRow appends a line of CSV with what *string, *int, *int64 and *float64 point
// to, floats with so many significant digits; -1 for as many as read back the same.
func appendRow(b []byte, digits int, values []any) []byte {
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := v.(type) {
		case *string:
			b = append(b, *v...)
		case *int:
			b = strconv.AppendInt(b, int64(*v), 10)
		case *int64:
			b = strconv.AppendInt(b, *v, 10)
		case *float64:
			b = strconv.AppendFloat(b, *v, 'g', digits, 64)
		}
	}
	return append(b, '\n')
}

// parseRow sets what values point to, the same as appendRow takes.
func parseRow(cells []string, values []any) (err error) {
	for i, v := range values {
		switch v := v.(type) {
		case *string:
			*v = cells[i]
		case *int:
			*v, err = strconv.Atoi(cells[i])
		case *int64:
			*v, err = strconv.ParseInt(cells[i], 10, 64)
		case *float64:
			*v, err = strconv.ParseFloat(cells[i], 64)
		}
		if err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// longestLine is how many bytes a line may have, of a dozen numbers.
const longestLine = 1 << 16

// readCSV calls row with the cells of every line below the header. A last line
// without its end, as a program that was killed leaves it, is ignored. Errors name
// the line.
func readCSV(r io.Reader, header string, row func(cells []string) error) error {
	in := bufio.NewReaderSize(r, longestLine)
	for line := 1; ; line++ {
		b, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && line > 1 {
			return nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			err = fmt.Errorf("it is longer than %d bytes", longestLine)
		}
		text := strings.TrimRight(string(b), "\r\n")
		cells := strings.Split(text, ",")
		switch want := strings.Count(header, ",") + 1; {
		case err != nil:
		case line == 1:
			if text != header {
				err = fmt.Errorf("not the header: want %q", header)
			}
		case len(cells) != want:
			err = fmt.Errorf("%w: %d instead of %d", csv.ErrFieldCount, len(cells), want)
		default:
			err = row(cells)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}
