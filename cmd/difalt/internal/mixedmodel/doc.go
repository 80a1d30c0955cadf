// Package mixedmodel computes what a Gaussian linear mixed model needs of one task:
//
//	y = X theta + e,  theta = mean + deviation,  deviation ~ N(0, S),  e ~ N(0, Noise I),
//
// with S = diag(Deviations)^2 + Loadings Loadings'. A [Solver] reduces a [Task] under a [Prior] to its
// information X'V^-1 X and X'V^-1 y, where V = X S X' + Noise I is the covariance of y for a known mean.
// Likelihoods, posterior coefficients and their covariances follow from these two.
package mixedmodel
