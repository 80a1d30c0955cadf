package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/difalt"
	"github.com/dustin/go-humanize"
)

const (
	clinics    = "../../examples/clinics.csv"
	newClinics = "../../examples/new-clinics.csv"
)

// fitClinics trains on the example table and returns the path of the model.
func fitClinics(t *testing.T, args ...string) (path, stdout string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "model.npz")
	args = append([]string{"fit", "--data", clinics, "--task", "clinic", "--target", "score", "--drop", "patient", "--model", path}, args...)
	stdout, stderr, code := difaltCommand(t, args...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, stderr)
	}
	return path, stdout
}

// clinicModel trains a model in a folder of its own, and returns its path.
func clinicModel(t *testing.T) string {
	t.Helper()
	path, _ := fitClinics(t, "--iterations", "20", "--ridge", "3")
	return path
}

func TestFitPredictAdapt(t *testing.T) {
	inFull(t)
	trace := filepath.Join(t.TempDir(), "trace.csv")
	path, stdout := fitClinics(t, "--trace", trace, "--iterations", "200")
	for _, want := range []string{"40 tasks, 8 features", "shared representation", "pooled ridge", "one ridge per task", "held-out  held-out  held-out", "log", "evidence", "200 iterations", trace, path} {
		if !strings.Contains(stdout, want) {
			t.Errorf("output lacks %q:\n%s", want, stdout)
		}
	}
	checkTrace(t, trace, "accelerated", 201)

	dir := t.TempDir()
	out := filepath.Join(dir, "predictions.csv")
	if _, stderr, code := difaltCommand(t, "predict", "--model", path, "--data", clinics, "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	checkPredictions(t, clinics, out)

	_, stderr, code := difaltCommand(t, "predict", "--model", path, "--data", newClinics, "--out", filepath.Join(dir, "none.csv"), "--known-only")
	if code != exitFailure || !strings.Contains(stderr, `new-clinics.csv: the model does not know tasks "C41", "C42", "C43": add them with adapt`) {
		t.Errorf("exit code %d, message %q", code, stderr)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the failed prediction left files: %v", entries)
	}

	adapted := filepath.Join(t.TempDir(), "adapted.npz")
	stdout, stderr, code = difaltCommand(t, "adapt", "--model", path, "--data", newClinics, "--out", adapted)
	if code != 0 || !strings.Contains(stdout, "3 tasks added from 18 rows; the model knows 43 tasks now") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code = difaltCommand(t, "predict", "--model", adapted, "--data", newClinics, "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	checkPredictions(t, newClinics, out)
	_, stderr, code = difaltCommand(t, "adapt", "--model", adapted, "--data", newClinics, "--out", filepath.Join(dir, "again.npz"))
	if code != exitFailure || !strings.Contains(stderr, `knows task "C41" already`) {
		t.Errorf("exit code %d, message %q", code, stderr)
	}
}

// checkPredictions asserts that the predictions are of the rows of the table, in
// order, and closer to the scores than their mean is.
func checkPredictions(t *testing.T, table, predictions string) {
	t.Helper()
	f, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := dataset.ReadCSV(f, dataset.TableOptions{Task: "clinic", Target: "score"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.Open(predictions)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got, err := dataset.ReadCSV(p, dataset.TableOptions{Task: "task", Features: []string{"prediction"}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows() != want.Rows() {
		t.Fatalf("%d predictions for %d rows", got.Rows(), want.Rows())
	}
	mean := 0.0
	for i := range want.Rows() {
		mean += want.Y(i) / float64(want.Rows())
	}
	var sse, sst float64
	x := make([]float64, 1)
	for i := range want.Rows() {
		if got.Tasks()[got.Task(i)] != want.Tasks()[want.Task(i)] {
			t.Fatalf("row %d is of another task", i)
		}
		e := got.X(x, i)[0] - want.Y(i)
		sse += e * e
		sst += (want.Y(i) - mean) * (want.Y(i) - mean)
	}
	if sse > 0.5*sst {
		t.Errorf("%s: the predictions explain %.2f of the variance", table, 1-sse/sst)
	}
}

func checkTrace(t *testing.T, path, method string, rows int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	trials, err := simulation.ReadTrace(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(trials) != 1 || len(trials[0].Curves) != 1 || trials[0].Curves[0].Method != method || len(trials[0].Curves[0].Rows) != rows {
		t.Errorf("trace %+v: want %d rows of %s", trials, rows, method)
	}
}

// Every method runs on an exported problem, from the start and with the weights of
// the file, and the right ones recover the truth.
func TestFitProblemFile(t *testing.T) {
	t.Parallel()
	inFull(t)
	dir := t.TempDir()
	problem, trace := filepath.Join(dir, "p.npz"), filepath.Join(dir, "t.csv")
	_, stderr, code := difaltCommand(t, "simulate", "--nodes", "5", "--features", "30", "--tasks", "40", "--samples", "20", "--rank", "2",
		"--trials", "1", "--iterations", "1", "--method", "dif", "--out", dir, "--export", problem)
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, method := range names(difalt.Methods()) {
		stdout, stderr, code := difaltCommand(t, "fit", "--data", problem, "--method", method, "--iterations", "250", "--trace", trace)
		if code != 0 {
			t.Fatalf("%s: %s", method, stderr)
		}
		if !strings.Contains(stdout, "rank 2") || !strings.Contains(stdout, "custom weights") || strings.Contains(stdout, "pooled") {
			t.Errorf("%s: output\n%s", method, stdout)
		}
		checkTrace(t, trace, method, 251)
		f, _ := os.Open(trace)
		trials, _ := simulation.ReadTrace(f)
		f.Close()
		last := trials[0].Curves[0].Rows[250]
		if stalls := method == "dec" || method == "dgd"; stalls == (last.SDMax < 1e-8) {
			t.Errorf("%s ends at distance %g", method, last.SDMax)
		}
	}
	stdout, stderr, code := difaltCommand(t, "fit", "--data", problem, "--weights", "equal", "--graph", "complete", "--iterations", "5")
	if code != 0 || !strings.Contains(stdout, "equal weights on complete") {
		t.Errorf("with flags for the network: %s%s", stdout, stderr)
	}
	for want, args := range map[string][]string{
		"--task is for tables":                {"--task", "a"},
		"says where tasks live":               {"--nodes", "2"},
		"U0 of node 0 is 30 x 2, want 30 x 3": {"--rank", "3"},
		"--rank is 31":                        {"--rank", "31"},
		"diverged":                            {"--step", "1e300"},
	} {
		_, stderr, code := difaltCommand(t, append([]string{"fit", "--data", problem}, args...)...)
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d, message %q, want %q", args, code, stderr, want)
		}
	}
}

func TestFitDataErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.csv")
	if err := os.WriteFile(bad, []byte("t,n,a,y\nx,p,1,2\nx,q,2,3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	texts := filepath.Join(dir, "texts.csv")
	if err := os.WriteFile(texts, []byte("t,n,a,m,y\nx,p,1,q,2\nx,q,2,r,3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "short.npz")
	if err := os.WriteFile(short, []byte("PK\x03\x04"), 0o666); err != nil {
		t.Fatal(err)
	}
	base := []string{"fit", "--data", clinics, "--task", "clinic", "--target", "score", "--drop", "patient"}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"fit", "--data", filepath.Join(dir, "no.csv"), "--task", "t", "--target", "y"}, []string{"no.csv: no such file"}},
		{[]string{"fit", "--data", short}, []string{"short.npz: not a complete .npz file"}},
		{[]string{"fit", "--data", bad, "--task", "t", "--target", "y"}, []string{"bad.csv: line 2", `column "n"`, `"p" is not a number`}},
		{[]string{"fit", "--data", bad, "--task", "t", "--target", "y", "--node", "n"}, []string{"bad.csv: line 3", `task "x"`, `node "q"`}},
		{[]string{"fit", "--data", texts, "--task", "t", "--target", "y"}, []string{`column "n"`, `"p" is not a number`, "2 columns are text: use --categorical n,m if they hold levels, or --drop n,m"}},
		{[]string{"fit", "--data", bad, "--task", "t", "--target", "z"}, []string{`bad.csv: there is no column "z" for the target`}},
		{append(base, "--holdout", "nothing"), []string{`there is no column "nothing" for the mark`}},
		{append(base, "--holdout", "age"), []string{"line 2", `column "age"`, "want 1"}},
		{append(base, "--sample-weights", "nothing"), []string{`there is no column "nothing" for the weight`}},
		{append(base, "--test-last", "visit"), []string{`there is no column "visit" for the time`, `did you mean "visits"`}},
		{append(base, "--folds-by", "clinic"), []string{`column "clinic" cannot be both the task and the group`}},
		{append(base, "--nodes", "41"), []string{"41 nodes for 40 tasks", "node 40 would have no tasks"}},
		{append(base, "--train-rows-per-task", "20"), []string{"tasks with too few rows for 20 rows to train on", `"C`}},
		{append(base, "--model", filepath.Join(dir, "no", "m.npz")), []string{"--model: cannot write", "no such file"}},
		{append(base, "--trace", dir), []string{"--trace: cannot write", "it is a folder"}},
		{[]string{"predict", "--model", clinics, "--data", clinics, "--out", filepath.Join(dir, "p.csv")}, []string{"clinics.csv: not a complete .npz file"}},
		{[]string{"predict", "--model", "m.npz", "--data", clinics, "--out", filepath.Join(dir, "no", "p.csv")}, []string{"--out: cannot write"}},
		{[]string{"adapt", "--model", "m.npz", "--data", clinics, "--out", filepath.Join(dir, "m2.npz")}, []string{"m.npz: no such file"}},
	} {
		_, stderr, code := difaltCommand(t, c.args...)
		if code == 0 {
			t.Errorf("%q succeeded", c.args)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%q: message %q lacks %q", c.args, stderr, want)
			}
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 {
		t.Errorf("the failed commands left files: %v", entries)
	}
}

// The result has numbers where numbers belong, in words and as JSON.
func TestFitReport(t *testing.T) {
	inFull(t)
	_, stdout := fitClinics(t, "--train-rows-per-task", "8", "--json")
	var r struct {
		Verdict   string
		Converged bool
		Compared  string
		Gain      *float64
		Methods   []struct {
			Name    string
			HeldOut struct{ RMSE *float64 } `json:"held_out"`
		}
		Chosen     struct{ Rank int }
		Candidates []struct{ Rank int }
		Bytes      int
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if r.Verdict == "" || !r.Converged || r.Compared == "" || r.Gain == nil || len(r.Methods) != 6 || r.Chosen.Rank < 1 || len(r.Candidates) < 3 || r.Bytes == 0 {
		t.Errorf("%+v", r)
	}
	for _, m := range r.Methods {
		if m.Name == "" || m.HeldOut.RMSE == nil || !(*m.HeldOut.RMSE > 3) {
			t.Errorf("%+v", m)
		}
	}
	_, stdout = fitClinics(t, "--test-fraction", "0", "--rank", "0", "--nodes", "1")
	for _, want := range []string{"No rows were held out", "one ridge per task", "mean of the task"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("output lacks %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "MAE") || strings.Contains(stdout, "held-out or") {
		t.Errorf("columns of held-out rows, and there are none:\n%s", stdout)
	}
}

// How nodes agree changes what is sent, not what is found. The default sends below 8 MB, most of them for the spline in the
// comparison, which is there only where nodes are made up.
// What has not converged is said in the first line of the results.
func TestFitAgreements(t *testing.T) {
	t.Parallel()
	inFull(t)
	sent := regexp.MustCompile(`([0-9.]+ [kM]B) in all`)
	for _, c := range []struct{ flags, want string }{
		{"", "method accelerated, sums along a tree"},
		{"--method accelerated --agree chebyshev --rounds 20", "method accelerated, 20 rounds of chebyshev an iteration"},
		{"--agree chebyshev", "method accelerated-tracking, 10 rounds of chebyshev int8 an iteration"},
		{"--agree plain --compress int4", "method accelerated-tracking, 10 rounds of int4 an iteration"},
		{"--compress int4", "method accelerated, sums along a tree in codes of int4"},
		{"--agree plain --compress none", "method accelerated-tracking, 10 rounds of plain an iteration"},
		{"--auto", "Chosen: method"},
		{"--method scaled --agree plain --iterations 2", "Not converged in 2 iterations"},
	} {
		_, stdout := fitClinics(t, strings.Fields(c.flags)...)
		if !strings.Contains(stdout, c.want) || c.flags != "--auto" && !strings.Contains(stdout, " 0.6") {
			t.Errorf("%q: output lacks %q, or explains less:\n%s", c.flags, c.want, stdout)
		}
		all, err := humanize.ParseBytes(append(sent.FindStringSubmatch(stdout), "", "")[1])
		if err != nil || c.flags == "" && all > 8_000_000 {
			t.Errorf("%q: %v bytes were sent: %v", c.flags, all, err)
		}
		if c.flags != "" {
			continue
		}
		if strings.Contains(stdout, "Not converged") {
			t.Errorf("the default:\n%s", stdout)
		}
	}
}

// TestFitUndetermined: where noise hides a direction the report says so, with what stands out, and does not estimate how far
// it is; a rank that the rows determine has none of that.
func TestFitUndetermined(t *testing.T) {
	inFull(t)
	dir := t.TempDir()
	problem := filepath.Join(dir, "p.npz")
	if _, stderr, code := difaltCommand(t, "simulate", "--nodes", "5", "--features", "30", "--tasks", "60", "--samples", "12", "--rank", "3", "--noise", "2",
		"--trials", "1", "--iterations", "1", "--method", "dif", "--out", dir, "--export", problem); code != 0 {
		t.Fatal(stderr)
	}
	stdout, stderr, code := difaltCommand(t, "fit", "--data", problem, "--auto", "--json")
	for _, want := range []string{`"status": "undetermined"`, "Singular values of the coefficients", "--rank", `"statistical_error": 1`} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, %q is not in %s%s", code, want, stdout, stderr)
		}
	}
	if _, stderr, code = difaltCommand(t, "simulate", "--nodes", "5", "--features", "30", "--tasks", "60", "--samples", "25", "--rank", "2", "--noise", "0.1",
		"--trials", "1", "--iterations", "1", "--method", "dif", "--out", filepath.Join(dir, "2"), "--export", problem+"2.npz"); code != 0 {
		t.Fatal(stderr)
	}
	if stdout, stderr, code = difaltCommand(t, "fit", "--data", problem+"2.npz", "--auto"); code != 0 || !strings.Contains(stdout, "converged:") || strings.Contains(stdout, "Singular values") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
