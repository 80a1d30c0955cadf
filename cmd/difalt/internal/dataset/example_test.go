package dataset_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
)

func ExampleReadCSV() {
	const text = `store,price,weekday,revenue
A,1.20,1,310
A,1.10,2,350
B,1.35,1,205
`
	table, err := dataset.ReadCSV(strings.NewReader(text), dataset.TableOptions{Task: "store", Target: "revenue"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(table.Rows(), "rows of tasks", table.Tasks())
	fmt.Println("features", table.Features())

	_, err = dataset.ReadCSV(strings.NewReader(text+"B,cheap,2,230\n"), dataset.TableOptions{Task: "store", Target: "revenue"})
	fmt.Println(err)
	// Output:
	// 3 rows of tasks [A B]
	// features [price weekday]
	// line 5, column "price": "cheap" is not a number
}
