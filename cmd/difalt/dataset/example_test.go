package dataset_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
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

// Two sites keep a file each. The levels of a categorical column are learned from
// both, and apply to tables that are read later.
func ExampleReadFiles() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"site-north.csv": "store;kind;price;revenue\nA;kiosk;1.20;310\nA;market;1.10;350\n",
		"site-south.csv": "store;kind;price;revenue\nB;kiosk;1.35;205\nB;kiosk;NA;210\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			log.Fatal(err)
		}
	}
	options := dataset.TableOptions{
		Task: "store", Target: "revenue", Categorical: []string{"kind"}, Missing: dataset.MissingDrop,
	}
	table, err := dataset.ReadFiles([]string{filepath.Join(dir, "site-*.csv")}, options)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(table.Rows(), "rows and", table.Dropped(), "dropped")
	fmt.Println("features", table.Features())

	options = dataset.TableOptions{Task: "store", Schema: table.Schema()}
	_, err = dataset.ReadCSV(strings.NewReader("store,price,kind\nA,1.30,mall\n"), options)
	fmt.Println(err)
	// Output:
	// 3 rows and 1 dropped
	// features [kind=kiosk kind=market price]
	// line 2, column "kind": the level "mall" is not known: it may be ["kiosk" "market"]
}

// Missing features can be kept: package fit fills them in.
func ExampleTable_Missing() {
	const text = "task,a,y\nx,1,0\nx,NA,0\nz,3,0\n"
	table, err := dataset.ReadCSV(strings.NewReader(text), dataset.TableOptions{Task: "task", Target: "y", Missing: dataset.MissingKeep})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(table.X(make([]float64, 1), 1), table.Missing())
	// Output: [NaN] [{a 1}]
}
