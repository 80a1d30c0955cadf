package dataset

import (
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A parquetType gives the meaning of the values of a column. A column without number holds strings, and in
// one without name a task or level has the name of its number.
type parquetType struct {
	number func(v parquet.Value) float64 // times as days since 1970; integers beyond 2^53 are rounded
	name   func(v parquet.Value) string  // with all digits
	date   bool
}

// parquetTypeOf returns the type of a column, or nil for one that holds neither numbers, dates nor strings:
// nested, binary, times of the day, intervals, decimals beyond 64 bits, float16 and INT96.
func parquetTypeOf(t parquet.Type) *parquetType {
	kind, integer := t.Kind(), parquet.Value.Int64
	if kind == parquet.Int32 {
		integer = func(v parquet.Value) int64 { return int64(v.Int32()) }
	}
	var annotation any
	if l := t.LogicalType(); l != nil {
		annotation = l.Value
	}
	p, fits := &parquetType{}, kind == parquet.Int32 || kind == parquet.Int64
	p.number = func(v parquet.Value) float64 { return float64(integer(v)) }
	p.name = func(v parquet.Value) string { return strconv.FormatInt(integer(v), 10) }
	switch a := annotation.(type) {
	case *format.DecimalType:
		fits = fits && a.Scale >= 0 && a.Scale <= 18
		unit := int64(math.Pow10(int(a.Scale)))
		p.number = func(v parquet.Value) float64 { x, _ := big.NewRat(integer(v), unit).Float64(); return x }
		p.name = func(v parquet.Value) string { return big.NewRat(integer(v), unit).FloatString(int(a.Scale)) }
	case *format.DateType:
		p.date, fits = true, kind == parquet.Int32
		p.name = func(v parquet.Value) string { return time.Unix(integer(v)*86400, 0).UTC().Format(time.DateOnly) }
	case *format.TimestampType:
		p.date, fits = true, kind == parquet.Int64 && a.Unit.Value != nil
		if fits {
			step := a.Unit.Value.Duration()
			perSecond := int64(time.Second / step)
			p.number = func(v parquet.Value) float64 { return float64(integer(v)) / float64(24*time.Hour/step) }
			p.name = func(v parquet.Value) string {
				n := integer(v)
				return time.Unix(n/perSecond, n%perSecond*int64(step)).UTC().Format(time.RFC3339Nano)
			}
		}
	case *format.IntType:
		if !a.IsSigned {
			unsigned := func(v parquet.Value) uint64 {
				if kind == parquet.Int32 {
					return uint64(v.Uint32())
				}
				return v.Uint64()
			}
			p.number = func(v parquet.Value) float64 { return float64(unsigned(v)) }
			p.name = func(v parquet.Value) string { return strconv.FormatUint(unsigned(v), 10) }
		}
	case *format.StringType, *format.EnumType, nil:
		switch {
		case kind == parquet.ByteArray:
			p, fits = &parquetType{name: func(v parquet.Value) string { return string(v.ByteArray()) }}, true
		case a != nil:
			fits = false
		case kind == parquet.Double:
			p, fits = &parquetType{number: parquet.Value.Double}, true
		case kind == parquet.Float:
			p, fits = &parquetType{number: func(v parquet.Value) float64 { return float64(v.Float()) }}, true
		case kind == parquet.Boolean:
			p, fits = &parquetType{number: func(v parquet.Value) float64 { return float64(v.Byte()) }}, true
		}
	default:
		fits = false
	}
	if !fits {
		return nil
	}
	return p
}
