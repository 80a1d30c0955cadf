package experiment

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// Names of the files of a Sweep.
const (
	SweepTraceFile  = "measurements.csv"
	SweepReportFile = "report.md"
)

// WriteSweep writes measurements, the report and the figures into a folder, which
// it makes if there is none, and returns the paths of the files. Figures come as
// PNG and as SVG.
func WriteSweep(dir string, all []Measurement) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("cannot make the output folder: %w", err)
	}
	var paths []string
	write := func(name string, f func(io.Writer) error) error {
		path := filepath.Join(dir, name)
		paths = append(paths, path)
		return writeFile(path, f)
	}
	if err := write(SweepReportFile, func(w io.Writer) error { return WriteSweepReport(w, all) }); err != nil {
		return nil, err
	}
	if err := write(SweepTraceFile, func(w io.Writer) error { return WriteMeasurements(w, all) }); err != nil {
		return nil, err
	}
	for _, f := range SweepFigures(all) {
		if err := write(f.Name+".png", f.WritePNG); err != nil {
			return nil, err
		}
		if err := write(f.Name+".svg", f.WriteSVG); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// WriteMeasurements writes measurements as a table with a header.
func WriteMeasurements(w io.Writer, all []Measurement) error {
	b := []byte("quantity,method,graph,trial,kappa,gamma,epsilon,features,tasks,samples,measured,theory\n")
	for i := range all {
		m := &all[i]
		b = fmt.Appendf(b, "%q,%s,%s,%d,%g,%.6g,%.6g,%d,%d,%d,%g,%.6g\n", m.Quantity, m.Method, m.Graph, m.Trial,
			m.Kappa, m.Gamma, m.Epsilon, m.Features, m.Tasks, m.Samples, m.Measured, m.Theory)
	}
	_, err := w.Write(b)
	return err
}

// WriteSweepReport writes the fitted exponents and the constants as tables in
// Markdown.
func WriteSweepReport(w io.Writer, all []Measurement) error {
	text := "| quantity | against | exponent of the theory | measured | R² | points |\n|---|---|---|---|---|---|\n"
	for _, f := range Fits(all) {
		text += fmt.Sprintf("| %s | %s | %g | %s | %.3f | %d |\n", f.Of, f.Against, f.Theory, exponent(f.Exponent), f.RSquared, f.Points)
	}
	text += "\n| formula | least C | median C | largest C | measurements | out of reach |\n|---|---|---|---|---|---|\n"
	for _, c := range ConstantsOf(all) {
		text += fmt.Sprintf("| %s of %s | %.2g | %.2g | %.2g | %d | %d |\n",
			c.Quantity, lookOf(c.Method).name, c.Least, c.Median, c.Most, c.Measurements, c.Failed)
	}
	_, err := io.WriteString(w, text)
	return err
}

// exponent prints an exponent to two decimals, without a negative zero.
func exponent(x float64) string {
	if s := strconv.FormatFloat(x, 'f', 2, 64); s != "-0.00" {
		return s
	}
	return "0.00"
}
