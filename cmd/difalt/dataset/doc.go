// Package dataset reads tables of many small regression tasks and turns them into the
// packed tasks of package kernel: assignment of tasks to nodes, held-out rows, folds.
//
// A [Table] holds rows of samples; each row belongs to a task, each task to a
// node. Tables come from files ([ReadFiles]: CSV, also compressed, Parquet, NPY; one
// file or one a node), from a stream of CSV ([ReadCSV]), row by row from the caller
// ([NewTable], [Table.Append]), or from the problem files of package problemfile.
// [TableOptions] says
// which columns are task, target, node and features, which of them are categorical, which
// say something about rows (weights, marks of held-out rows, times, groups), and what
// becomes of missing values; [Table.Schema] keeps what was learned from the
// first table for the next. How CSV is written is found from its first rows, and
// [Table.Assumptions] tells what is not the plain way. [Describe] says what a file holds
// without training on it. Package fit trains on tables, and package model
// predicts.
//
// # Memory
//
// Rows are parsed as they are read, so that a table takes 8 bytes a number, or 4 with
// float32 storage, whatever the size of the file's text. [Table.Pack] copies it.
// Compressed text that unpacks to more than a hundred times its size, and arrays or
// columns that claim to, are refused beyond some megabytes, as are single cells of many
// megabytes.
//
// # Errors
//
// An error names the file, the line or row, the column or array, and the value.
// Nothing is returned besides an error.
package dataset
