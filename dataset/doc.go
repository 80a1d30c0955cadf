// Package dataset reads tables of many small regression tasks, and the problem
// files that programs exchange, and turns them into the packed tasks of package
// difalt: assignment of tasks to nodes, held-out rows, folds.
//
// A [Table] holds rows of samples; each row belongs to a task, each task to a
// node. Tables come from CSV ([ReadCSV]), from problem files ([ReadProblem]) or
// row by row from the caller ([Table.Append]). Package dataset/model trains on
// tables and predicts.
package dataset
