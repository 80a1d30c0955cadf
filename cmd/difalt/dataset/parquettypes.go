package dataset

import (
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A parquetType gives the meaning of the values of a column.
type parquetType struct {
	kind     parquet.Kind
	text     bool          // strings, which are names only
	unsigned bool          // integers
	exponent string        // of decimals: "e-2" for integers of 1/100; "" for others
	scale    int           // digits of decimals after the point
	step     time.Duration // of times since 1970, at most a day; 0 for others
}

// parquetTypeOf returns the type of a column; ok is false for one that holds neither numbers, dates nor
// strings: nested, binary, times of the day, intervals, decimals beyond 64 bits, float16 and INT96.
func parquetTypeOf(t parquet.Type, annotation any) (p parquetType, ok bool) {
	if l := t.LogicalType(); l != nil {
		annotation = l.Value
	}
	p.kind = t.Kind()
	integer := p.kind == parquet.Int32 || p.kind == parquet.Int64
	switch a := annotation.(type) {
	case *format.DecimalType:
		p.scale, p.exponent = int(a.Scale), fmt.Sprintf("e-%d", a.Scale)
		return p, integer && p.scale >= 0 && p.scale <= 18
	case *format.DateType:
		p.step = 24 * time.Hour
		return p, p.kind == parquet.Int32
	case *format.TimestampType:
		if p.kind != parquet.Int64 || a.Unit.Value == nil {
			return p, false
		}
		p.step = a.Unit.Value.Duration()
		return p, true
	case *format.StringType, *format.EnumType:
		p.text = true
		return p, p.kind == parquet.ByteArray
	case *format.IntType:
		p.unsigned = !a.IsSigned
		return p, integer
	case nil:
		p.text = p.kind == parquet.ByteArray
		return p, integer || p.text || p.kind == parquet.Boolean || p.kind == parquet.Float || p.kind == parquet.Double
	}
	return p, false
}

// integer returns the integer of a value of a signed type.
func (p *parquetType) integer(v parquet.Value) int64 {
	if p.kind == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

// number returns a value as a feature or target: times as days. Integers beyond 2^53 are rounded.
func (p *parquetType) number(v parquet.Value) (x float64) {
	switch {
	case p.kind == parquet.Boolean && v.Boolean():
		x = 1
	case p.kind == parquet.Boolean:
	case p.kind == parquet.Float:
		x = float64(v.Float())
	case p.kind == parquet.Double:
		x = v.Double()
	case p.step > 0:
		x = float64(p.integer(v)) / float64(24*time.Hour/p.step)
	case p.exponent != "":
		x, _ = strconv.ParseFloat(strconv.FormatInt(p.integer(v), 10)+p.exponent, 64)
	case p.unsigned && p.kind == parquet.Int32:
		x = float64(v.Uint32())
	case p.unsigned:
		x = float64(v.Uint64())
	default:
		x = float64(p.integer(v))
	}
	return x
}

// name returns a value as a task or a level, with all digits of integers; ok is false for one that is that of
// its number.
func (p *parquetType) name(v parquet.Value) (name string, ok bool) {
	switch {
	case p.text:
		return string(v.ByteArray()), true
	case p.step == 24*time.Hour:
		return time.Unix(0, 0).UTC().AddDate(0, 0, int(v.Int32())).Format(time.DateOnly), true
	case p.step > 0:
		n, perSecond := v.Int64(), int64(time.Second/p.step)
		return time.Unix(n/perSecond, n%perSecond*int64(p.step)).UTC().Format(time.RFC3339Nano), true
	case p.exponent != "":
		exact, _ := new(big.Rat).SetString(strconv.FormatInt(p.integer(v), 10) + p.exponent)
		return exact.FloatString(p.scale), true
	case p.kind == parquet.Int64 && p.unsigned:
		return strconv.FormatUint(v.Uint64(), 10), true
	case p.kind == parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10), true
	}
	return "", false
}
