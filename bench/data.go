package main

import (
	"archive/zip"
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
)

// The generated data resembles CI&T Deskdrop in the numbers of rows, users and items, in
// its time span (a year), and in the share of each kind of event. Users and items are
// ranked from 0, the most frequent first. The share of user n is proportional to 1/(n+8),
// and the share of item n to 1/(n+50). Both formulas are accurate to within a tenth over
// most of the range.
const (
	generatedRows  = 72_312
	generatedUsers = 1895
	generatedItems = 2987
	generatedStart = 1_457_963_676 // seconds since 1970
	generatedSpan  = 30_346_023    // seconds
	zipfExponent   = 1.02          // exponent of both distributions; rand.Zipf does not accept 1
	userOffset     = 8
	itemOffset     = 50
)

var generatedEvents = []struct {
	name  string
	share float64
}{{"VIEW", 0.845}, {"LIKE", 0.079}, {"BOOKMARK", 0.034}, {"COMMENT CREATED", 0.022}, {"FOLLOW", 0.020}}

// dataColumns holds the names of the columns that the benchmark uses.
var dataColumns = []string{"timestamp", "eventType", "contentId", "personId"}

// dataset holds the rows to import. A row has one value for each of the dataColumns, in
// the same order.
type dataset struct {
	source string // the origin of the rows, as the report states it
	rows   [][4]string
}

// readData reads the data set CI&T Deskdrop from the archive at path, or generates data
// if that file does not exist.
func readData(path string, seed uint64) (*dataset, error) {
	packed, err := zip.OpenReader(path)
	if errors.Is(err, fs.ErrNotExist) {
		return generateData(seed), nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = packed.Close() }()
	if len(packed.File) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	file, err := packed.File[0].Open()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = file.Close() }()
	rows, err := parseData(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &dataset{"CI&T Deskdrop", rows}, nil
}

func parseData(from io.Reader) (rows [][4]string, err error) {
	lines := csv.NewReader(from)
	lines.ReuseRecord = true
	header, err := lines.Read()
	if err != nil {
		return nil, err
	}
	var at [4]int
	for i, name := range dataColumns {
		at[i] = -1
		for k := range header {
			if header[k] == name {
				at[i] = k
			}
		}
		if at[i] < 0 {
			return nil, fmt.Errorf("the data has no column %s", name)
		}
	}
	for {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, [4]string{line[at[0]], line[at[1]], line[at[2]], line[at[3]]})
	}
}

func generateData(seed uint64) *dataset {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // it is meant to be the same each time
	users := rand.NewZipf(random, zipfExponent, userOffset, generatedUsers-1)
	items := rand.NewZipf(random, zipfExponent, itemOffset, generatedItems-1)
	d := &dataset{"generated with the skew of CI&T Deskdrop, which is not available", make([][4]string, generatedRows)}
	for i := range d.rows {
		event := generatedEvents[len(generatedEvents)-1].name
		for chance, n := random.Float64(), 0; n < len(generatedEvents); n++ {
			if chance -= generatedEvents[n].share; chance < 0 {
				event = generatedEvents[n].name
				break
			}
		}
		d.rows[i] = [4]string{
			strconv.FormatInt(generatedStart+random.Int64N(generatedSpan), 10), event,
			"item-" + strconv.FormatUint(items.Uint64(), 10), "user-" + strconv.FormatUint(users.Uint64(), 10),
		}
	}
	return d
}

// write writes the given number of copies of the data to the file at path. Each copy has
// different users. It returns the number of rows written.
func (d *dataset) write(path string, copies int) (rows int, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriterSize(file, 1<<20)
	_, _ = fmt.Fprintf(out, "%s,%s,%s,%s\n", dataColumns[0], dataColumns[1], dataColumns[2], dataColumns[3])
	for n := range copies {
		user := ""
		if n > 0 {
			user = strconv.Itoa(n) + "-"
		}
		for i := range d.rows {
			r := &d.rows[i]
			_, _ = out.WriteString(r[0] + "," + r[1] + "," + r[2] + "," + user + r[3] + "\n")
		}
	}
	return copies * len(d.rows), out.Flush()
}
