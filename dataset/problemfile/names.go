package problemfile

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/difalt/difalt/internal/npz"
)

// readTasks returns the task of every row and the names of the tasks.
func readTasks(r *npz.Reader, x *npz.Array) (task []int, names []string, err error) {
	if len(x.Shape) == 3 {
		if r.Has("task") {
			return nil, nil, fmt.Errorf("array %q is there, but X is %s: its first axis says the task", "task", x)
		}
		n := x.Shape[1]
		task = make([]int, x.Shape[0]*n)
		for i := range task {
			task[i] = i / n
		}
		return task, numbered("", x.Shape[0]), nil
	}
	task, names, err = readNumbered(r, "task", x.Shape[0], fmt.Sprintf("one entry a row of X, which is %s", x))
	if err != nil || names != nil {
		return task, names, err
	}
	tasks, err := countTasks(r, task)
	return task, numbered("", tasks), err
}

// readNumbered reads an array of n numbers, or of names, which are numbered in the order in which they come first.
func readNumbered(r *npz.Reader, name string, n int, want string) (numbers []int, names []string, err error) {
	a, err := readVector(r, name, n, want)
	if err != nil {
		return nil, nil, err
	}
	if !a.Text() {
		numbers, err = a.Ints()
		return numbers, nil, err
	}
	text, err := a.Strings()
	index := map[string]int{}
	for _, s := range text {
		k, there := index[s]
		if !there {
			k = len(names)
			index[s], names = k, append(names, s)
		}
		numbers = append(numbers, k)
	}
	return numbers, names, err
}

// countTasks returns the number of tasks, each of which must have rows.
func countTasks(r *npz.Reader, task []int) (tasks int, err error) {
	limit := len(task)
	if r.Has("node") {
		node, err := r.Array("node")
		if err != nil {
			return 0, err
		}
		limit = node.Len()
	}
	for i, k := range task {
		if k < 0 || k >= limit {
			return 0, fmt.Errorf("array %q: entry %d is %d: want 0 to T-1 = %d", "task", i, k, limit-1)
		}
		tasks = max(tasks, k+1)
	}
	count := make([]int, tasks)
	for _, k := range task {
		count[k]++
	}
	for k, n := range count {
		if n == 0 {
			return 0, fmt.Errorf("array %q: task %d of %d has no rows", "task", k, tasks)
		}
	}
	return tasks, nil
}

// readFeatures returns the names of the features.
func readFeatures(r *npz.Reader, x *npz.Array) ([]string, error) {
	d := x.Shape[len(x.Shape)-1]
	if !r.Has("feature") {
		return numbered("x", d), nil
	}
	a, err := readVector(r, "feature", d, fmt.Sprintf("one string a column of X, which is %s", x))
	if err != nil {
		return nil, err
	}
	return a.Strings()
}

// numbered returns n names: the prefix and a number.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i)
	}
	return names
}

// readNodes reads where the tasks live and returns the number of nodes.
func (f *File) readNodes(r *npz.Reader) (int, error) {
	tasks := len(f.Table.Tasks())
	node, names, err := readNumbered(r, "node", tasks, fmt.Sprintf("one entry for each of the %d tasks", tasks))
	if err != nil {
		return 0, err
	}
	if names == nil {
		for k, g := range node {
			if g < 0 || g >= tasks {
				return 0, fmt.Errorf("array %q: entry %d is %d: want 0 to L-1, and no more nodes than tasks (%d)", "node", k, g, tasks)
			}
		}
		names = numbered("", slices.Max(node)+1)
	}
	if err := f.Table.Assign(names, node); err != nil {
		return 0, fmt.Errorf("array %q: %w", "node", err)
	}
	f.HasNodes = true
	return len(names), nil
}
