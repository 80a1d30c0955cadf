package mixed

// A stack is several tables of equal columns, one below another.
type stack struct {
	Table // the first one
	list  []Table
	rows  []int // where the rows of every table begin, and the end
	tasks []int // where the tasks of every table begin, and the end
	names []string
}

// stacked returns the tables of this process as one.
func stacked(list []Input) Input {
	if len(list) == 1 {
		return list[0]
	}
	s, held := &stack{Table: list[0].Table, rows: []int{0}, tasks: []int{0}}, []bool(nil)
	for _, in := range list {
		s.list = append(s.list, in.Table)
		for i := range in.Table.Rows() {
			held = append(held, !in.trains(i))
		}
		s.names = append(s.names, in.Table.Tasks()...)
		s.rows, s.tasks = append(s.rows, len(held)), append(s.tasks, len(s.names))
	}
	return Input{Table: s, HeldOut: held}
}

// of returns the table with a row, and the number of the row there.
func (s *stack) of(row int) (table, own int) {
	for s.rows[table+1] <= row {
		table++
	}
	return table, row - s.rows[table]
}

func (s *stack) Tasks() []string    { return s.names }
func (s *stack) Rows() int          { return s.rows[len(s.list)] }
func (s *stack) Weights() []float64 { return nil }

func (s *stack) Task(row int) int {
	table, own := s.of(row)
	return s.tasks[table] + s.list[table].Task(own)
}

func (s *stack) X(dst []float64, row int) []float64 {
	table, own := s.of(row)
	return s.list[table].X(dst, own)
}

func (s *stack) Y(row int) float64 {
	table, own := s.of(row)
	return s.list[table].Y(own)
}
