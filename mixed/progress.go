package mixed

import "context"

// Stages are the names of the stages of Fit and Together that Progress receives, in their order.
var Stages = []string{"columns", "ranks", "ranks with curves", "noise and effects", "predictions"}

// PrivateStages are the stages of Privately.
var PrivateStages = []string{"columns", "private sums", "strengths", "predictions"}

// Progress is the point that a training has reached. Nothing in it depends on the rows of one owner.
type Progress struct {
	// Stage is one of Stages or PrivateStages, or AllRows.
	Stage string
	// Done is the number of steps of the stage that are done, of at most Most; Most is 0 where nothing is
	// known of it.
	Done, Most int
	// Sums is the number of sums over all tasks that are done: of Together, totals over all owners.
	Sums int
}

// A tracker is the Sums of a training that reports its progress.
type tracker struct {
	Sums
	now    Progress
	report func(Progress) // nil is silent
}

// newTracker returns the tracker of a training with some options.
func newTracker(o *Options) *tracker {
	t := &tracker{Sums: o.Sums, report: o.Progress}
	if t.Sums == nil {
		t.Sums = Local{}
	}
	return t
}

// stage reports the number of steps of a stage that are done, of at most a number that is 0 if it is unknown.
func (t *tracker) stage(name string, done, most int) {
	t.now.Stage, t.now.Done, t.now.Most = name, done, most
	t.send()
}

func (t *tracker) send() {
	if t.report != nil {
		t.report(t.now)
	}
}

// Add implements Sums.
func (t *tracker) Add(ctx context.Context, name string, v []float64, d *Decision) error {
	if err := t.Sums.Add(ctx, name, v, d); err != nil {
		return err
	}
	t.now.Sums++
	t.send()
	return nil
}
