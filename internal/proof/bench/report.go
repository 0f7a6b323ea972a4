package bench

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
)

// Report is what a run found.
type Report struct {
	System     string    `json:"system"` // operating system and processor kind
	Go         string    `json:"go"`
	Processors int       `json:"processors"`
	Rounds     int       `json:"rounds"`
	LoadBefore string    `json:"load_before,omitempty"` // the system's load averages, where it tells
	LoadAfter  string    `json:"load_after,omitempty"`
	Sections   []Section `json:"sections"`
}

// Section is one measurement.
type Section struct {
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	Rows   []Row    `json:"rows"`
	Series []Series `json:"series,omitempty"` // what is better seen over time
	Note   string   `json:"note,omitempty"`
}

// Row is one figure.
type Row struct {
	Case   string  `json:"case"`
	Figure string  `json:"figure"`
	Unit   string  `json:"unit"`
	Value  Spread  `json:"value"`
	Limit  *Spread `json:"limit,omitempty"` // what the machine allows, measured in the same rounds
	Ratio  *Spread `json:"ratio,omitempty"` // of value and limit, round by round
}

// Series is a figure over time.
type Series struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Seconds []float64 `json:"seconds"`
	Values  []float64 `json:"values"`
}

func newReport(rounds int) Report {
	return Report{
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Processors: runtime.GOMAXPROCS(0),
		Rounds: rounds, LoadBefore: loadAverage(),
	}
}

// loadAverage is how busy the machine is besides, where the system tells.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(3, len(fields))], " ")
}

// tally gathers figures over rounds. Rows keep the order in which they first
// came.
type tally struct {
	rows   []*gathered
	series []Series
	note   string
}

type gathered struct {
	row    Row
	values []float64
	limits []float64
}

// add notes a figure of one round.
func (t *tally) add(group, figure, unit string, value float64) { t.put(group, figure, unit, value) }

// compare notes a figure and its limit, taken in the same round.
func (t *tally) compare(group, figure, unit string, value, limit float64) {
	t.put(group, figure, unit, value, limit)
}

func (t *tally) put(group, figure, unit string, value float64, limit ...float64) {
	g := t.find(group, figure, unit)
	g.values = append(g.values, value)
	g.limits = append(g.limits, limit...)
}

func (t *tally) find(group, figure, unit string) *gathered {
	for _, g := range t.rows {
		if g.row.Case == group && g.row.Figure == figure {
			return g
		}
	}
	g := &gathered{row: Row{Case: group, Figure: figure, Unit: unit}}
	t.rows = append(t.rows, g)
	return g
}

func (t *tally) section(m measurement) Section {
	s := Section{Name: m.name, Title: m.title, Rows: []Row{}, Series: t.series, Note: t.note}
	for _, g := range t.rows {
		s.Rows = append(s.Rows, g.finish())
	}
	return s
}

func (g *gathered) finish() Row {
	row := g.row
	row.Value = spreadOf(g.values)
	if len(g.limits) != len(g.values) {
		return row
	}
	ratios := make([]float64, len(g.values))
	for i := range g.values {
		if g.limits[i] != 0 {
			ratios[i] = g.values[i] / g.limits[i]
		}
	}
	limit, ratio := spreadOf(g.limits), spreadOf(ratios)
	row.Limit, row.Ratio = &limit, &ratio
	return row
}

// Print writes the report for people: each figure as median (least–most).
func (r Report) Print(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, %s, %d processors; median (least–most) of %d rounds", r.System, r.Go, r.Processors, r.Rounds)
	if r.LoadBefore != "" {
		fmt.Fprintf(&text, "; load %s before, %s after", r.LoadBefore, r.LoadAfter)
	}
	text.WriteString("\n")
	for _, s := range r.Sections {
		s.print(&text)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (s Section) print(text *strings.Builder) {
	fmt.Fprintf(text, "\n%s: %s\n", s.Name, s.Title)
	table := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	for _, row := range s.Rows {
		limit, ratio := "", ""
		if row.Limit != nil {
			limit = "limit " + row.Limit.String()
			ratio = "ratio " + row.Ratio.String()
		}
		fmt.Fprintf(table, "  %s\t%s\t%s %s\t%s\t%s\n", row.Case, row.Figure, row.Value, row.Unit, limit, ratio)
	}
	table.Flush() // a Builder never fails
	if s.Note != "" {
		fmt.Fprintf(text, "  %s\n", s.Note)
	}
}

// String is for people.
func (s Spread) String() string {
	if s.Least == s.Most {
		return readable(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", readable(s.Median), readable(s.Least), readable(s.Most))
}

// readable has about three digits.
func readable(value float64) string {
	switch {
	case value == float64(int64(value)) || value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	case value >= 1:
		return fmt.Sprintf("%.2f", value)
	}
	return fmt.Sprintf("%.3f", value)
}
