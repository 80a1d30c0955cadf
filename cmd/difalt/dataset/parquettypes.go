package dataset

import (
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A parquetType gives the meaning of the values of a column.
type parquetType struct {
	text  bool                          // strings, which are names only
	dates bool                          // days since 1970-01-01
	value func(v parquet.Value) float64 // as a feature or target; nil for strings
	name  func(v parquet.Value) string  // as a task or a level; nil formats value
}

// parquetTypeOf returns the type of a column; ok is false for one that holds neither
// numbers, dates nor strings: nested, binary, times of the day, intervals, decimals beyond
// 64 bits, float16 and INT96.
func parquetTypeOf(t parquet.Type, annotation any) (p parquetType, ok bool) {
	if l := t.LogicalType(); l != nil {
		annotation = l.Value
	}
	k := t.Kind()
	switch a := annotation.(type) {
	case *format.DecimalType:
		return decimalType(k, int(a.Scale))
	case *format.DateType:
		days := func(v parquet.Value) float64 { return float64(v.Int32()) }
		name := func(v parquet.Value) string {
			return time.Unix(0, 0).UTC().AddDate(0, 0, int(v.Int32())).Format(time.DateOnly)
		}
		return parquetType{dates: true, value: days, name: name}, k == parquet.Int32
	case *format.TimestampType:
		return timestampType(k, a.Unit.Value)
	case *format.StringType, *format.EnumType:
		return parquetType{text: true}, k == parquet.ByteArray
	case *format.IntType:
		return integerType(k, a.IsSigned)
	case nil:
	default:
		return p, false
	}
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

// decimalType is the type of integers of 10^-scale.
func decimalType(k parquet.Kind, scale int) (p parquetType, ok bool) {
	digits, _ := integerType(k, true)
	exact := func(v parquet.Value) *big.Rat {
		whole := v.Int64()
		if k == parquet.Int32 {
			whole = int64(v.Int32())
		}
		power := int64(1)
		for range scale {
			power *= 10
		}
		return big.NewRat(whole, power)
	}
	value := func(v parquet.Value) float64 { x, _ := exact(v).Float64(); return x }
	name := func(v parquet.Value) string { return exact(v).FloatString(scale) }
	return parquetType{value: value, name: name}, digits.value != nil && scale >= 0 && scale <= 18
}

// timestampType is the type of times since 1970, as days.
func timestampType(k parquet.Kind, unit format.TimeUnitValue) (p parquetType, ok bool) {
	if k != parquet.Int64 || unit == nil {
		return p, false
	}
	step := unit.Duration()
	days := func(v parquet.Value) float64 { return float64(v.Int64()) / float64(24*time.Hour/step) }
	name := func(v parquet.Value) string {
		n, perSecond := v.Int64(), int64(time.Second/step)
		return time.Unix(n/perSecond, n%perSecond*int64(step)).UTC().Format(time.RFC3339Nano)
	}
	return parquetType{dates: true, value: days, name: name}, true
}
