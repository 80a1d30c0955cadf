// Package dataset reads tables of many small regression tasks.
//
// A [Table] holds samples in rows; each row belongs to a task. [ReadFiles] reads tables from files: CSV,
// plain or compressed by gzip or zstd, Parquet, NumPy's .npy.
// [TableOptions] assigns columns to their roles. [Table.Schema] holds the columns and levels of a table: with
// it, later files are read to equal features. [Table.Split] divides rows into training rows and test rows.
//
// Numbers have a decimal point unless [TableOptions.Decimal] is a comma, no marks between thousands, and
// dates are refused unless [TableOptions.Dates] gives their order. Only the delimiter is detected, from the
// header line. A cell in another notation gives a [FormatError] that names the option.
//
// Rows are parsed while they are read. A table takes 8 bytes per number. These are errors: a record above 16
// MB, text above 16 MB that was compressed more than a hundredfold, and an array or column that claims more
// than the file can hold. An error names the file, the line or row, the column or array, and the value.
package dataset
