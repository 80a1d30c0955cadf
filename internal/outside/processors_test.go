package outside

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// equalEverywhere lists the functions of packages that have the same bits on all processors, as package
// rounded has, and types and constants. Other ones are assembly on some processors, or have products and sums
// that the compiler for arm64 rounds once.
var equalEverywhere = map[string]string{
	"math": "Abs Ceil Copysign Float32bits Float32frombits Float64bits Float64frombits Floor Frexp Ilogb Inf IsInf " +
		"IsNaN Ldexp Logb Max Min Mod Modf NaN Nextafter Round RoundToEven Signbit Sqrt Trunc FMA E Pi Ln2 " +
		"Log2E Sqrt2 " +
		"MaxFloat32 MaxFloat64 SmallestNonzeroFloat32 SmallestNonzeroFloat64 MaxInt MaxInt8 MaxInt16 " +
		"MaxInt32 MaxInt64 " +
		"MinInt MinInt8 MinInt32 MinInt64 MaxUint8 MaxUint16 MaxUint32 MaxUint64",
	"math/cmplx": "Conj Inf IsInf IsNaN NaN",
	"gonum.org/v1/gonum/floats": "Add AddConst AddTo Div DivTo HasNaN Max MaxIdx Min MinIdx Mul MulTo Reverse Scale " +
		"ScaleTo Sub SubTo",
	"gonum.org/v1/gonum/blas/blas64": "General GeneralCols Symmetric SymmetricPacked Triangular " +
		"TriangularPacked Vector Use",
	"gonum.org/v1/gonum/blas/blas32": "Use", "gonum.org/v1/gonum/blas/cblas64": "Use",
	"gonum.org/v1/gonum/blas/cblas128":   "Use",
	"gonum.org/v1/gonum/lapack/lapack64": "Use",
	"gonum.org/v1/gonum/mat":             "Col Dense Matrix NewDense Row", "gonum.org/v1/gonum/stat": "",
	"gonum.org/v1/gonum/stat/distuv": "",
	"gonum.org/v1/gonum/mathext":     "", "gonum.org/v1/gonum/interp": "", "gonum.org/v1/gonum/optimize": "",
}

// unequalMethods are methods of random numbers that take logarithms and exponentials of package math.
var unequalMethods = []string{"NormFloat64", "ExpFloat64"}

// mayDiffer are the files with functions that may have other bits on other processors, and why.
var mayDiffer = map[string]string{
	"kernel/chunk_gonum.go":        "gonum's kernel, with other bits on all processors",
	"kernel/blas/ordered_other.go": "rows of amd64, whose sums ordered_arm64.go adds in the same order",
	"topology/gamma.go":            "the spectral gap, from which numbers of rounds follow",
	"internal/synth/synth.go":      "synthetic data: normal numbers beyond 3.44",
	"internal/rounded/rounded.go":  "Normal rounds what NormFloat64 computes by logarithms",
}

// differing returns the functions in a file that may have other bits on another processor, with their places.
func differing(files *token.FileSet, file *ast.File) (list []string) {
	packages := map[string][]string{} // the equal functions of imported packages, by name
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		equal, listed := equalEverywhere[path]
		if err != nil || !listed {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		packages[name] = strings.Fields(equal)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name, _ := s.X.(*ast.Ident)
		differs := slices.Contains(unequalMethods, s.Sel.Name)
		if name != nil && name.Obj == nil {
			equal, listed := packages[name.Name]
			differs = differs || listed && !slices.Contains(equal, s.Sel.Name)
		}
		if differs {
			list = append(list, fmt.Sprintf("%s: %s", files.Position(s.Pos()), s.Sel.Name))
		}
		return true
	})
	return list
}

// TestEqualOnProcessors: packages whose results have the same bits on all processors call no function of
// other packages that has other bits on some processor, but in the files of mayDiffer.
func TestEqualOnProcessors(t *testing.T) {
	found := map[string]bool{}
	for _, folder := range []string{"kernel", "difalt", "mixed", "consensus", "topology", "internal"} {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			path = filepath.ToSlash(path)
			own := strings.TrimPrefix(path, "../../")
			if d.IsDir() && (slices.Contains(forTests, own) || d.Name() == "testdata" || d.Name()[0] == '_') {
				return fs.SkipDir
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			list := differing(files, file)
			if _, may := mayDiffer[own]; may {
				found[own] = len(list) > 0
				return nil
			}
			for _, place := range list {
				t.Errorf("%s may have other bits on another processor: take it from package rounded or dense", place)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, own := range slices.Sorted(maps.Keys(mayDiffer)) {
		if !found[own] {
			t.Errorf("%s has no function with other bits: delete it from the list", own)
		}
	}
}

// forTests are packages that only tests and measurements import.
var forTests = []string{"internal/outside", "internal/measure", "internal/testnet", "internal/tiertest"}

// TestEqualOnProcessorsFinds: differing finds functions under any name of their package, and methods.
func TestEqualOnProcessorsFinds(t *testing.T) {
	const source = `package p

import (
	"math"
	sums "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

func f(x []float64, rng interface{ NormFloat64() float64 }, own struct{ Exp float64 }) float64 {
	g := math.Exp
	return math.Sqrt(sums.Dot(x, x)) + distuv.UnitNormal.CDF(1) + rng.NormFloat64() + g(own.Exp) + sums.Max(x)
}
`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"p.go:10:7: Exp", "p.go:11:19: Dot", "p.go:11:37: UnitNormal", "p.go:11:64: NormFloat64"}
	if got := differing(files, file); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
