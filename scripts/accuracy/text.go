package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const introduction = `# How accurate fit is

<!-- Written by scripts/accuracy; "make accuracy" makes it again. -->

` + "`difalt fit`" + ` with no options beside the names of the columns, on tables that nobody
tuned it for, beside what one would use instead. Some tables are drawn at random, from shapes
that suit a different method each; some are real. All methods see the same rows for
training and are judged on the same others (40 a task in drawn tables), which are in another file
(so that ` + "`fit`" + ` also has ` + "`--test-fraction 0`" + `).

The others are each task's mean; ridge regression on all rows; the same with an intercept
for each task that is shrunk by a strength of its own; one ridge regression a task with a free intercept
(strength by task, or one for all: the better on the held-out rows is shown); linear mixed models with random
intercepts, also with a random slope of the first feature or of all (statsmodels; the best that ended
within 60 s of processor time is shown); and boosted trees with the task as a category. All choose their
strengths by leave-one-out, or restricted maximum likelihood, on the rows for training. The tables named uneven have
seeds 71 to 75, and so have the intervals below; the others 1 to 5.

The numbers are root mean square errors on held-out rows divided by that of **the best of
the others for the same seed**, medians over the seeds; below 1 is better than all of them. "Best of
the others" is chosen after the fact, by the held-out rows: nobody can do that who does not know the answer.
A dash: no result.

`

const meaning = `The last line
is what a method costs on the table that suits it least, of those that it gave a result on: the price of
choosing one method by habit.
`

const explained = `
## Explained variance

1 - sum (y - prediction)^2 / sum (y - mean of y)^2 over all held-out rows, means over the seeds.

`

const times = `
## Seconds

Medians over the seeds, cross-validation included: the others on one thread; ` + "`fit`" + ` on two processors that
had a few other jobs to do.

`

const covered = `
## Intervals

How many of the 95 % intervals of ` + "`predict --standard-errors`" + ` (1.96 standard errors to both sides) hold what they
should, in percent, on drawn data: the expected target (how sure is the mean?) and a single target
(where will the next row be?), for tasks of the table that was fitted and for new ones that ` + "`adapt`" + ` added from few rows.
For these also the RMSE of predictions of single targets, whose noise is 1, and that of each task's mean. Twelve tasks do not always
show that they differ in two directions: where fewer are found, intervals are too narrow.

`

const again = `
## Again

    make accuracy SCHOOL=school.csv

draws the tables, measures, and writes this page. It needs Python with the packages of
[scripts/accuracy/requirements.txt](../scripts/accuracy/requirements.txt); the results of the last
time are in [scripts/accuracy/results](../scripts/accuracy/results). School is the table of the
Inner London Education Authority (15,362 pupils of 139 schools), data/school.mat of the repository
jiayuzhou/MALSAR on GitHub, as a CSV file with the columns task, x0 to x27 and y; what its
licence is is not said there, so it does not lie here. Grunfeld's firms come with statsmodels.

Measured with %s.
`

// coverageTable writes one line for every kind of data, of the lines for known tasks
// and for new ones.
func coverageTable(b *strings.Builder, rows [][]string) error {
	if !slices.Equal(rows[0], coverageHeader) {
		return fmt.Errorf("coverages have the columns %q: want %q", rows[0], coverageHeader)
	}
	b.WriteString(covered)
	cells := []string{"data", "tasks", "features", "known: expected", "known: single"}
	for _, n := range newRows {
		cells = append(cells, fmt.Sprintf("new, %d rows: expected", n), "single", "RMSE", "of the mean")
	}
	head(b, cells...)
	least, most, largest := 1.0, 0.0, 0.0
	for i := 1; i+len(newRows) < len(rows); i += 1 + len(newRows) {
		cells := slices.Clone(rows[i][:3])
		for j := range 1 + len(newRows) {
			var v [7]float64
			for k := range v {
				var err error
				if v[k], err = strconv.ParseFloat(rows[i+j][5+k], 64); err != nil {
					return fmt.Errorf("coverages, row %d: %w", i+j, err)
				}
			}
			cells = append(cells, percent(v[0]), percent(v[2]))
			if j > 0 {
				cells = append(cells, fmt.Sprintf("%.2f", v[5]), fmt.Sprintf("%.2f", v[6]))
			}
			least, most, largest = min(least, v[0], v[2]), max(most, v[0], v[2]), max(largest, v[1], v[3])
		}
		row(b, cells...)
	}
	fmt.Fprintf(b, "\nFrom %s to %s %%; the standard errors over the data sets drawn are at most %s %%.\n", percent(least), percent(most), percent(largest))
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.1f", 100*share) }
