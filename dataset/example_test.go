package dataset_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/difalt/difalt/dataset"
)

func ExampleReadCSV() {
	const text = `store,region,price,weekday,revenue
A,north,1.20,1,310
A,north,1.10,2,350
B,south,1.35,1,205
`
	table, err := dataset.ReadCSV(strings.NewReader(text), dataset.TableOptions{Task: "store", Target: "revenue", Node: "region"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(table.Rows(), "rows of tasks", table.Tasks(), "on nodes", table.Nodes())
	fmt.Println("features", table.Features())

	_, err = dataset.ReadCSV(strings.NewReader(text+"B,south,cheap,2,230\n"), dataset.TableOptions{Task: "store", Target: "revenue", Node: "region"})
	fmt.Println(err)
	// Output:
	// 3 rows of tasks [A B] on nodes [north south]
	// features [price weekday]
	// line 5, column "price": "cheap" is not a number
}
