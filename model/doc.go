// Package model keeps what was learned from many small regression tasks, and
// predicts with it.
//
// The target of task t at features x is, with x standardised,
//
//	y = x' (mean + U b_t) + noise,
//
// where all tasks share mean and U, a basis of low rank, and b_t is the task's own. A
// [Model] is a file ([Load], [Model.Save]) that NumPy reads too; it predicts for the
// tasks that it knows, says how sure it is ([Model.PredictError]), and learns new tasks
// from few rows ([Model.Adapt]). Package fit trains models.
//
// The package is light enough for a service: it needs nothing that reads tables,
// speaks over networks or draws.
package model
