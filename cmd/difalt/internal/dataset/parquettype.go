package dataset

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// text returns a value in words, empty for null.
func (t *parquetType) text(v parquet.Value) string {
	switch {
	case v.IsNull():
		return ""
	case t.name != nil:
		return t.name(v)
	}
	return text.Number(t.number(v))
}

// A parquetType gives the meaning of the values of a column: numbers, or strings where number is nil. name is
// the text of a value that names a task or a level; where it is nil, the number is written.
type parquetType struct {
	number func(v parquet.Value) float64 // times as days since 1970; integers beyond 2^53 are rounded
	name   func(v parquet.Value) string  // with all digits
	date   Date
}

// parquetTypeOf returns the type of a column, or nil for one that holds neither numbers, dates nor strings:
// nested, binary, times of the day and intervals.
func parquetTypeOf(t parquet.Type) *parquetType {
	kind := t.Kind()
	isWhole := kind == parquet.Int32 || kind == parquet.Int64
	var annotation any
	if l := t.LogicalType(); l != nil {
		annotation = l.Value
	}
	switch a := annotation.(type) {
	case *format.DecimalType:
		return decimalType(t, int(a.Scale))
	case *format.DateType:
		if kind == parquet.Int32 {
			return dayType
		}
	case *format.TimestampType:
		if kind == parquet.Int64 && a.Unit.Value != nil {
			return timestampType(a.Unit.Value.Duration())
		}
	case *format.IntType:
		switch {
		case isWhole && !a.IsSigned:
			return unsignedType(kind)
		case isWhole:
			return wholeType(kind)
		}
	case *format.StringType, *format.EnumType:
		if kind == parquet.ByteArray {
			return plainType(kind)
		}
	case nil:
		switch {
		case kind == parquet.Int96:
			return int96Type
		case isWhole:
			return wholeType(kind)
		}
		return plainType(kind)
	}
	return nil
}

// integerOf returns the function that reads a whole number of a kind.
func integerOf(kind parquet.Kind) func(v parquet.Value) int64 {
	if kind == parquet.Int32 {
		return func(v parquet.Value) int64 { return int64(v.Int32()) }
	}
	return parquet.Value.Int64
}

// wholeType is the type of whole numbers.
func wholeType(kind parquet.Kind) *parquetType {
	integer := integerOf(kind)
	return &parquetType{
		number: func(v parquet.Value) float64 { return float64(integer(v)) },
		name:   func(v parquet.Value) string { return strconv.FormatInt(integer(v), 10) },
	}
}

// unsignedType is the type of whole numbers without a sign.
func unsignedType(kind parquet.Kind) *parquetType {
	unsigned := parquet.Value.Uint64
	if kind == parquet.Int32 {
		unsigned = func(v parquet.Value) uint64 { return uint64(v.Uint32()) }
	}
	return &parquetType{
		number: func(v parquet.Value) float64 { return float64(unsigned(v)) },
		name:   func(v parquet.Value) string { return strconv.FormatUint(unsigned(v), 10) },
	}
}

// decimalType is the type of decimals with some digits behind the point, nil for a form that is not read.
func decimalType(t parquet.Type, scale int) *parquetType {
	fits, integer := false, integerOf(t.Kind())
	whole := func(v parquet.Value) *big.Int { return big.NewInt(integer(v)) }
	switch t.Kind() {
	case parquet.Int32, parquet.Int64:
		fits = true
	case parquet.FixedLenByteArray:
		whole, fits = bigEndian, t.Length() <= mostDecimalBytes
	}
	if !fits || scale < 0 || scale > mostDecimalDigits {
		return nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	exact := func(v parquet.Value) *big.Rat { return new(big.Rat).SetFrac(whole(v), unit) }
	return &parquetType{
		number: func(v parquet.Value) float64 { x, _ := exact(v).Float64(); return x },
		name:   func(v parquet.Value) string { return exact(v).FloatString(scale) },
	}
}

// dayType is the type of dates.
var dayType = &parquetType{
	number: func(v parquet.Value) float64 { return float64(v.Int32()) },
	name: func(v parquet.Value) string {
		return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
	},
	date: Day,
}

// timestampType is the type of dates with a time of the day, counted in steps.
func timestampType(step time.Duration) *parquetType {
	perSecond := int64(time.Second / step)
	return &parquetType{
		number: func(v parquet.Value) float64 { return float64(v.Int64()) / float64(24*time.Hour/step) },
		name: func(v parquet.Value) string {
			n := v.Int64()
			return time.Unix(n/perSecond, n%perSecond*int64(step)).UTC().Format(time.RFC3339Nano)
		},
		date: Instant,
	}
}

// int96Type is the type of dates with a time of the day as earlier programs wrote them.
var int96Type = &parquetType{
	number: func(v parquet.Value) float64 { return daysOf(julian(v)) },
	name:   func(v parquet.Value) string { return julian(v).Format(time.RFC3339Nano) },
	date:   Instant,
}

// The largest decimals: of 16 bytes and 38 digits, as Arrow and Spark have them.
const (
	mostDecimalBytes  = 16
	mostDecimalDigits = 38
)

// bigEndian returns the number of the bytes of a value: big-endian, in two's complement.
func bigEndian(v parquet.Value) *big.Int {
	b := v.ByteArray()
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// half returns the number of a value of float16: a sign, five bits of the exponent and ten of the fraction.
func half(v parquet.Value) float64 {
	bits := binary.LittleEndian.Uint16(v.ByteArray())
	exponent, fraction := int(bits>>10&31), int(bits&1023)
	x := math.Ldexp(float64(fraction), -24)
	switch {
	case exponent == 31 && fraction > 0:
		return math.NaN()
	case exponent == 31:
		x = math.Inf(1)
	case exponent > 0:
		x = math.Ldexp(float64(1024+fraction), exponent-25)
	}
	if bits>>15 == 1 {
		return -x
	}
	return x
}

// julian returns the time of a value of INT96, which Spark and Impala write: nanoseconds of the day, and a
// Julian day.
func julian(v parquet.Value) time.Time {
	const epoch = 2440588 // the Julian day of 1970-01-01
	n := v.Int96()
	nanoseconds := int64(uint64(n[1])<<32 | uint64(n[0]))
	return time.Unix((int64(n[2])-epoch)*86400, nanoseconds).UTC()
}

// plainType returns the type of a column without annotation that does not hold integers, or nil.
func plainType(kind parquet.Kind) *parquetType {
	switch kind {
	case parquet.ByteArray:
		return &parquetType{name: func(v parquet.Value) string { return string(v.ByteArray()) }}
	case parquet.Double:
		return &parquetType{number: parquet.Value.Double}
	case parquet.Float:
		return &parquetType{number: func(v parquet.Value) float64 { return float64(v.Float()) }}
	case parquet.Boolean:
		return &parquetType{
			number: func(v parquet.Value) float64 { return float64(v.Byte()) },
			name:   func(v parquet.Value) string { return strconv.FormatBool(v.Boolean()) },
		}
	}
	return nil
}
