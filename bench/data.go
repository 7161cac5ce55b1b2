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

// The generated data resembles CI&T Deskdrop in its numbers of rows, users and items,
// its time span of a year, and the share of each event. The shares of the n-th most
// active user and the n-th most popular item, from 0, are proportional to 1/(n+8) and
// 1/(n+50), to within a tenth over most of the range.
const (
	drawnRows  = 72_312
	drawnUsers = 1895
	drawnItems = 2987
	drawnFrom  = 1_457_963_676 // seconds since 1970
	drawnFor   = 30_346_023    // seconds
	steepness  = 1.02          // exponent of both distributions; rand.Zipf does not accept 1
	userOffset = 8
	itemOffset = 50
)

var drawnEvents = []struct {
	name  string
	share float64
}{{"VIEW", 0.845}, {"LIKE", 0.079}, {"BOOKMARK", 0.034}, {"COMMENT CREATED", 0.022}, {"FOLLOW", 0.020}}

// The columns of the data that are used.
var columns = []string{"timestamp", "eventType", "contentId", "personId"}

// dataset is the rows to import, with these columns.
type dataset struct {
	source string // described in words
	rows   [][4]string
}

// readData reads CI&T Deskdrop, or generates data if the file does not exist.
func readData(path string, seed uint64) (*dataset, error) {
	packed, err := zip.OpenReader(path)
	if errors.Is(err, fs.ErrNotExist) {
		return drawData(seed), nil
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
	for i, name := range columns {
		at[i] = -1
		for k := range header {
			if header[k] == name {
				at[i] = k
			}
		}
		if at[i] < 0 {
			return nil, fmt.Errorf("there is no column %s", name)
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

func drawData(seed uint64) *dataset {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // it is meant to be the same each time
	users := rand.NewZipf(random, steepness, userOffset, drawnUsers-1)
	items := rand.NewZipf(random, steepness, itemOffset, drawnItems-1)
	d := &dataset{"drawn with the skew of CI&T Deskdrop, which is not there", make([][4]string, drawnRows)}
	for i := range d.rows {
		event := drawnEvents[len(drawnEvents)-1].name
		for chance, n := random.Float64(), 0; n < len(drawnEvents); n++ {
			if chance -= drawnEvents[n].share; chance < 0 {
				event = drawnEvents[n].name
				break
			}
		}
		d.rows[i] = [4]string{
			strconv.FormatInt(drawnFrom+random.Int64N(drawnFor), 10), event,
			"item-" + strconv.FormatUint(items.Uint64(), 10), "user-" + strconv.FormatUint(users.Uint64(), 10),
		}
	}
	return d
}

// write writes the data copies times, with different users each time, and returns the
// number of rows.
func (d *dataset) write(path string, copies int) (rows int, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriterSize(file, 1<<20)
	_, _ = fmt.Fprintf(out, "%s,%s,%s,%s\n", columns[0], columns[1], columns[2], columns[3])
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
