package blas_test

import (
	"testing"

	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/blas/testblas"
	"gonum.org/v1/gonum/lapack/testlapack"
)

// A suite is one of gonum's tests of an implementation.
type suite struct {
	name string
	run  func(t *testing.T)
}

// ofBLAS and ofLAPACK are gonum's own tests of the routines that are computed by the tiles, and of
// those that call them. slow ones take seconds.
var (
	ofBLAS = []suite{
		{"Dgemm", func(t *testing.T) { testblas.TestDgemm(t, blas.Implementation{}) }},
		{"Dsyrk", func(t *testing.T) { testblas.DsyrkTest(t, blas.Implementation{}) }},
		{"Dsyr2k", func(t *testing.T) { testblas.Dsyr2kTest(t, blas.Implementation{}) }},
		{"Dtrmm", func(t *testing.T) { testblas.DtrmmTest(t, blas.Implementation{}) }},
		{"Dsymm", func(t *testing.T) { testblas.DsymmTest(t, blas.Implementation{}) }},
		{"Dtrsm", func(t *testing.T) { testblas.DtrsmTest(t, blas.Implementation{}) }},
		{"Dsymv", func(t *testing.T) { testblas.DsymvTest(t, blas.Implementation{}) }},
		{"Dgemv", func(t *testing.T) { testblas.DgemvTest(t, blas.Implementation{}) }},
		{"Dger", func(t *testing.T) { testblas.DgerTest(t, blas.Implementation{}) }},
		{"Dtrsv", func(t *testing.T) { testblas.DtrsvTest(t, blas.Implementation{}) }},
		{"Dtrmv", func(t *testing.T) { testblas.DtrmvTest(t, blas.Implementation{}) }},
		{"Dtxmv", func(t *testing.T) { testblas.DtxmvTest(t, blas.Implementation{}) }},
		{"Dsyr", func(t *testing.T) { testblas.DsyrTest(t, blas.Implementation{}) }},
		{"Dspr", func(t *testing.T) { testblas.DsprTest(t, blas.Implementation{}) }},
		{"Dsyr2", func(t *testing.T) { testblas.Dsyr2Test(t, blas.Implementation{}) }},
		{"Dspr2", func(t *testing.T) { testblas.Dspr2Test(t, blas.Implementation{}) }},
		{"Dspmv", func(t *testing.T) { testblas.DspmvTest(t, blas.Implementation{}) }},
		{"Dsbmv", func(t *testing.T) { testblas.DsbmvTest(t, blas.Implementation{}) }},
		{"Dgbmv", func(t *testing.T) { testblas.DgbmvTest(t, blas.Implementation{}) }},
		{"Dtpmv", func(t *testing.T) { testblas.DtpmvTest(t, blas.Implementation{}) }},
		{"Dtpsv", func(t *testing.T) { testblas.DtpsvTest(t, blas.Implementation{}) }},
		{"Dtbmv", func(t *testing.T) { testblas.DtbmvTest(t, blas.Implementation{}) }},
		{"Dtbsv", func(t *testing.T) { testblas.DtbsvTest(t, blas.Implementation{}) }},
		{"Ddot", func(t *testing.T) { testblas.DdotTest(t, blas.Implementation{}) }},
		{"Dasum", func(t *testing.T) { testblas.DasumTest(t, blas.Implementation{}) }},
		{"Dscal", func(t *testing.T) { testblas.DscalTest(t, blas.Implementation{}) }},
		{"Dnrm2", func(t *testing.T) { testblas.Dnrm2Test(t, blas.Implementation{}) }},
		{"Drot", func(t *testing.T) { testblas.DrotTest(t, blas.Implementation{}) }},
		{"Dswap", func(t *testing.T) { testblas.DswapTest(t, blas.Implementation{}) }},
		{"Idamax", func(t *testing.T) { testblas.IdamaxTest(t, blas.Implementation{}) }},
		{"Zaxpy", func(t *testing.T) { testblas.ZaxpyTest(t, blas.Implementation{}) }},
		{"Zdotu", func(t *testing.T) { testblas.ZdotuTest(t, blas.Implementation{}) }},
		{"Zdotc", func(t *testing.T) { testblas.ZdotcTest(t, blas.Implementation{}) }},
		{"Zscal", func(t *testing.T) { testblas.ZscalTest(t, blas.Implementation{}) }},
		{"Zdscal", func(t *testing.T) { testblas.ZdscalTest(t, blas.Implementation{}) }},
		{"Dznrm2", func(t *testing.T) { testblas.Dznrm2Test(t, blas.Implementation{}) }},
		{"Dzasum", func(t *testing.T) { testblas.DzasumTest(t, blas.Implementation{}) }},
		{"Zswap", func(t *testing.T) { testblas.ZswapTest(t, blas.Implementation{}) }},
		{"Daxpy", func(t *testing.T) { testblas.DaxpyTest(t, blas.Implementation{}) }},
		{"Zgemm", func(t *testing.T) { testblas.ZgemmTest(t, blas.Implementation{}) }},
		{"Zgemv", func(t *testing.T) { testblas.ZgemvTest(t, blas.Implementation{}) }},
		{"Zherk", func(t *testing.T) { testblas.ZherkTest(t, blas.Implementation{}) }},
		{"Zsyrk", func(t *testing.T) { testblas.ZsyrkTest(t, blas.Implementation{}) }},
		{"Zhemm", func(t *testing.T) { testblas.ZhemmTest(t, blas.Implementation{}) }},
		{"Zsymm", func(t *testing.T) { testblas.ZsymmTest(t, blas.Implementation{}) }},
		{"Ztrsm", func(t *testing.T) { testblas.ZtrsmTest(t, blas.Implementation{}) }},
		{"Ztrmm", func(t *testing.T) { testblas.ZtrmmTest(t, blas.Implementation{}) }},
		{"Zher2k", func(t *testing.T) { testblas.Zher2kTest(t, blas.Implementation{}) }},
		{"Zsyr2k", func(t *testing.T) { testblas.Zsyr2kTest(t, blas.Implementation{}) }},
		{"Zher", func(t *testing.T) { testblas.ZherTest(t, blas.Implementation{}) }},
		{"Zher2", func(t *testing.T) { testblas.Zher2Test(t, blas.Implementation{}) }},
		{"Zhpr", func(t *testing.T) { testblas.ZhprTest(t, blas.Implementation{}) }},
		{"Zhpr2", func(t *testing.T) { testblas.Zhpr2Test(t, blas.Implementation{}) }},
		{"Zhemv", func(t *testing.T) { testblas.ZhemvTest(t, blas.Implementation{}) }},
		{"Zhpmv", func(t *testing.T) { testblas.ZhpmvTest(t, blas.Implementation{}) }},
		{"Zhbmv", func(t *testing.T) { testblas.ZhbmvTest(t, blas.Implementation{}) }},
		{"Zgbmv", func(t *testing.T) { testblas.ZgbmvTest(t, blas.Implementation{}) }},
		{"Ztrmv", func(t *testing.T) { testblas.ZtrmvTest(t, blas.Implementation{}) }},
		{"Ztrsv", func(t *testing.T) { testblas.ZtrsvTest(t, blas.Implementation{}) }},
		{"Ztpmv", func(t *testing.T) { testblas.ZtpmvTest(t, blas.Implementation{}) }},
		{"Ztpsv", func(t *testing.T) { testblas.ZtpsvTest(t, blas.Implementation{}) }},
		{"Ztbmv", func(t *testing.T) { testblas.ZtbmvTest(t, blas.Implementation{}) }},
		{"Ztbsv", func(t *testing.T) { testblas.ZtbsvTest(t, blas.Implementation{}) }},
		{"Zgeru", func(t *testing.T) { testblas.ZgeruTest(t, blas.Implementation{}) }},
		{"Zgerc", func(t *testing.T) { testblas.ZgercTest(t, blas.Implementation{}) }},
	}
	ofLAPACK = []suite{
		{"Dgetrf", func(t *testing.T) { testlapack.DgetrfTest(t, blas.Lapack{}) }},
		{"Dgetrs", func(t *testing.T) { testlapack.DgetrsTest(t, blas.Lapack{}) }},
		{"Dgesv", func(t *testing.T) { testlapack.DgesvTest(t, blas.Lapack{}) }},
		{"Dgecon", func(t *testing.T) { testlapack.DgeconTest(t, blas.Lapack{}) }},
		{"Dpotrf", func(t *testing.T) { testlapack.DpotrfTest(t, blas.Lapack{}) }},
		{"Dpotrs", func(t *testing.T) { testlapack.DpotrsTest(t, blas.Lapack{}) }},
		{"Dpotri", func(t *testing.T) { testlapack.DpotriTest(t, blas.Lapack{}) }},
		{"Dpbcon", func(t *testing.T) { testlapack.DpbconTest(t, blas.Lapack{}) }},
		{"Dpbtrs", func(t *testing.T) { testlapack.DpbtrsTest(t, blas.Lapack{}) }},
		{"Dtbtrs", func(t *testing.T) { testlapack.DtbtrsTest(t, blas.Lapack{}) }},
		{"Dlantr", func(t *testing.T) { testlapack.DlantrTest(t, blas.Lapack{}) }},
		{"Dpocon", func(t *testing.T) { testlapack.DpoconTest(t, blas.Lapack{}) }},
		{"Dlansy", func(t *testing.T) { testlapack.DlansyTest(t, blas.Lapack{}) }},
		{"Dtrcon", func(t *testing.T) { testlapack.DtrconTest(t, blas.Lapack{}) }},
		{"Dtrtrs", func(t *testing.T) { testlapack.DtrtrsTest(t, blas.Lapack{}) }},
		{"Dgels", func(t *testing.T) { testlapack.DgelsTest(t, blas.Lapack{}) }},
	}
	slow = []suite{
		{"Dsyev", func(t *testing.T) { testlapack.DsyevTest(t, blas.Lapack{}) }},
		{"Dgeqrf", func(t *testing.T) { testlapack.DgeqrfTest(t, blas.Lapack{}) }},
		{"Dormqr", func(t *testing.T) { testlapack.DormqrTest(t, blas.Lapack{}) }},
		{"Dgesvd", func(t *testing.T) { testlapack.DgesvdTest(t, blas.Lapack{}, 1e-13) }},
		{"Dgeev", func(t *testing.T) { testlapack.DgeevTest(t, blas.Lapack{}) }},
		{"Dgetri", func(t *testing.T) { testlapack.DgetriTest(t, blas.Lapack{}) }},
		{"Dtrtri", func(t *testing.T) { testlapack.DtrtriTest(t, blas.Lapack{}) }},
		{"Dsytrd", func(t *testing.T) { testlapack.DsytrdTest(t, blas.Lapack{}) }},
		{"Dgebrd", func(t *testing.T) { testlapack.DgebrdTest(t, blas.Lapack{}) }},
		{"Dgelqf", func(t *testing.T) { testlapack.DgelqfTest(t, blas.Lapack{}) }},
		{"Dgeqp3", func(t *testing.T) { testlapack.Dgeqp3Test(t, blas.Lapack{}) }},
		{"Dorglq", func(t *testing.T) { testlapack.DorglqTest(t, blas.Lapack{}) }},
		{"Dlarft", func(t *testing.T) { testlapack.DlarftTest(t, blas.Lapack{}) }},
		{"Dormlq", func(t *testing.T) { testlapack.DormlqTest(t, blas.Lapack{}) }},
		{"Dorgqr", func(t *testing.T) { testlapack.DorgqrTest(t, blas.Lapack{}) }},
		{"Dormbr", func(t *testing.T) { testlapack.DormbrTest(t, blas.Lapack{}) }},
		{"Dorgbr", func(t *testing.T) { testlapack.DorgbrTest(t, blas.Lapack{}) }},
		{"Dorghr", func(t *testing.T) { testlapack.DorghrTest(t, blas.Lapack{}) }},
		{"Dormhr", func(t *testing.T) { testlapack.DormhrTest(t, blas.Lapack{}) }},
		{"Dorgtr", func(t *testing.T) { testlapack.DorgtrTest(t, blas.Lapack{}) }},
		{"Dbdsqr", func(t *testing.T) { testlapack.DbdsqrTest(t, blas.Lapack{}) }},
		{"Dsterf", func(t *testing.T) { testlapack.DsterfTest(t, blas.Lapack{}) }},
		{"Dsteqr", func(t *testing.T) { testlapack.DsteqrTest(t, blas.Lapack{}) }},
		{"Dhseqr", func(t *testing.T) { testlapack.DhseqrTest(t, blas.Lapack{}) }},
		{"Dtrevc3", func(t *testing.T) { testlapack.Dtrevc3Test(t, blas.Lapack{}) }},
		{"Dggsvd3", func(t *testing.T) { testlapack.Dggsvd3Test(t, blas.Lapack{}) }},
	}
)

// gonum's own suites pass, with the tiles below blas64 and lapack64.
func TestSuitesOfGonum(t *testing.T) {
	defer restore()()
	blas.Use()
	suites := append(ofBLAS, ofLAPACK...)
	if longtest.Enabled() {
		suites = append(suites, slow...)
	}
	tiertest.Each(t, func(t *testing.T) {
		for _, s := range suites {
			t.Run(s.name, s.run)
		}
	})
}
