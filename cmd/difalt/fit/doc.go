// Package fit trains a linear mixed model on one table of many small regression tasks.
//
// [Fit] models the target of task t as
//
//	y = x'(mu + deviation_t) + noise,   deviation_t = diag(sigma) e_t + W b_t,   e_t, b_t ~ N(0, I).
//
// x holds 1, the standardised features and, for every number with five or more distinct training
// values, the columns of a natural cubic spline. At first sigma has one value for the intercept, one for
// linear columns and one for curves; in the chosen model every linear column and every curve has its own,
// with the common one as prior. The mean has the prior N(0, tau^2), with one tau for linear columns and one
// for each curve. W, P x r, acts on the intercept and the linear columns. All these strengths maximise the
// marginal likelihood (empirical Bayes).
//
// The estimator is the alternation of AltGDmin with posterior moments: b_t given W by its posterior mean
// and covariance, then a scaled gradient step on W, W + (sum G_t)^-1 gradient (mean b b')^-1, and closed
// forms for the strengths, which are steps of EM; Anderson acceleration on top. Ranks 0 to 3 are compared
// by penalised evidence, each with curves and without, and curves are kept where they are 3 nats better.
// Each form climbs once more from the end of the other one, so that neither wins by its start. Where the
// residuals support noise by task, lower ranks are compared again with it.
//
// A task keeps its products X'X, X'y, y'y, or its rows where these are fewer than the columns. The sums
// over tasks have a fixed order, so results have the same bits for every number of workers.
package fit
