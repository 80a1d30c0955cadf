package dataset

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/x448/float16"
)

// A parquetType says what the values of a column stand for.
type parquetType struct {
	text  bool                          // strings, which are names only
	dates bool                          // days since 1970-01-01
	value func(v parquet.Value) float64 // as a feature or target; nil of strings
	name  func(v parquet.Value) string  // as a task, a node or a level; nil formats value
}

// parquetTypeOf returns what a leaf of a schema holds; ok is false for what is neither a
// number, a date nor a string.
func parquetTypeOf(t parquet.Type, annotated format.LogicalType) (p parquetType, ok bool) {
	annotation := annotated.Value // that of float16 is only there
	if l := t.LogicalType(); l != nil {
		annotation = l.Value
	}
	switch a := annotation.(type) {
	case *format.DecimalType:
		return decimalType(t.Kind(), int(a.Scale))
	case *format.DateType:
		days := func(v parquet.Value) float64 { return float64(v.Int32()) }
		name := func(v parquet.Value) string {
			return time.Unix(0, 0).UTC().AddDate(0, 0, int(v.Int32())).Format(time.DateOnly)
		}
		return parquetType{dates: true, value: days, name: name}, t.Kind() == parquet.Int32
	case *format.TimestampType:
		return timestampType(t.Kind(), a.Unit.Value)
	case *format.Float16Type:
		half := func(v parquet.Value) float64 { return halfOf(v.ByteArray()) }
		return parquetType{value: half}, t.Kind() == parquet.FixedLenByteArray && t.Length() == 2
	case *format.StringType, *format.EnumType:
		return parquetType{text: true}, t.Kind() == parquet.ByteArray
	case *format.IntType:
		return integerType(t.Kind(), a.IsSigned)
	case nil:
		return physicalType(t.Kind())
	}
	return p, false
}

// physicalType is the type of a column without annotation.
func physicalType(k parquet.Kind) (p parquetType, ok bool) {
	switch k {
	case parquet.Boolean:
		return parquetType{value: func(v parquet.Value) float64 {
			if v.Boolean() {
				return 1
			}
			return 0
		}}, true
	case parquet.Float:
		return parquetType{value: func(v parquet.Value) float64 { return float64(v.Float()) }}, true
	case parquet.Double:
		return parquetType{value: parquet.Value.Double}, true
	case parquet.ByteArray:
		return parquetType{text: true}, true
	case parquet.Int96: // a time of older programs: nanoseconds of a day, and its Julian number
		const epoch = 2440588
		days := func(v parquet.Value) float64 {
			t := v.Int96()
			return float64(int32(t[2])-epoch) + float64(uint64(t[1])<<32|uint64(t[0]))/(secondsADay*1e9)
		}
		return parquetType{dates: true, value: days}, true
	}
	return integerType(k, true)
}

// integerType keeps all digits of names; numbers beyond 2^53 are rounded like any other.
func integerType(k parquet.Kind, signed bool) (p parquetType, ok bool) {
	switch {
	case k == parquet.Int32 && signed:
		p.value = func(v parquet.Value) float64 { return float64(v.Int32()) }
	case k == parquet.Int32:
		p.value = func(v parquet.Value) float64 { return float64(v.Uint32()) }
	case k == parquet.Int64 && signed:
		p.value = func(v parquet.Value) float64 { return float64(v.Int64()) }
		p.name = func(v parquet.Value) string { return strconv.FormatInt(v.Int64(), 10) }
	case k == parquet.Int64:
		p.value = func(v parquet.Value) float64 { return float64(v.Uint64()) }
		p.name = func(v parquet.Value) string { return strconv.FormatUint(v.Uint64(), 10) }
	}
	return p, p.value != nil
}

// decimalType is the type of whole numbers of 10^-scale.
func decimalType(k parquet.Kind, scale int) (p parquetType, ok bool) {
	var whole func(v parquet.Value) *big.Int
	switch k {
	case parquet.Int32:
		whole = func(v parquet.Value) *big.Int { return big.NewInt(int64(v.Int32())) }
	case parquet.Int64:
		whole = func(v parquet.Value) *big.Int { return big.NewInt(v.Int64()) }
	case parquet.FixedLenByteArray, parquet.ByteArray:
		whole = func(v parquet.Value) *big.Int { return bigEndian(v.ByteArray()) }
	default:
		return p, false
	}
	value := func(v parquet.Value) float64 {
		// Rounded once, from all digits.
		x, err := strconv.ParseFloat(whole(v).String()+"e-"+strconv.Itoa(scale), 64)
		if err != nil {
			return math.Inf(1)
		}
		return x
	}
	name := func(v parquet.Value) string {
		return new(big.Rat).SetFrac(whole(v), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
	}
	return parquetType{value: value, name: name}, scale >= 0 && scale <= 1000
}

// bigEndian returns a number of two's complement.
func bigEndian(b []byte) *big.Int {
	x := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return x
}

// timestampType is the type of times since 1970, as days.
func timestampType(k parquet.Kind, unit format.TimeUnitValue) (p parquetType, ok bool) {
	if k != parquet.Int64 || unit == nil {
		return p, false
	}
	step := unit.Duration()
	perDay := float64(24 * time.Hour / step)
	days := func(v parquet.Value) float64 { return float64(v.Int64()) / perDay }
	name := func(v parquet.Value) string {
		n, perSecond := v.Int64(), int64(time.Second/step)
		return time.Unix(n/perSecond, n%perSecond*int64(step)).UTC().Format(time.RFC3339Nano)
	}
	return parquetType{dates: true, value: days, name: name}, true
}

func halfOf(b []byte) float64 {
	return float64(float16.Frombits(binary.LittleEndian.Uint16(b)).Float32())
}
