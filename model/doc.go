// Package model keeps what was learned from many small regression tasks, and
// predicts with it.
//
// The target of task t at features x is, with x standardised,
//
//	y = x' (mean + deviation_t) + noise,   deviation_t ~ N(0, L L' + spread I + intercept e e'),
//
// where all tasks share the mean and the covariance of the deviations, with loadings L of low
// rank, and the deviation is the task's own ([Parameters.Prior]). A
// [Model] is a file ([Load], [Model.Save]) that NumPy reads too; it predicts for the
// tasks that it knows, says how sure it is ([Model.PredictError]), also of others ([Model.PredictAny]), and learns new tasks
// from few rows ([Model.Adapt]). Package fit trains models.
//
// The package is light enough for a service: it needs nothing that reads tables,
// speaks over networks or draws.
package model
