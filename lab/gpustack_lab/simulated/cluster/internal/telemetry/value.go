package telemetry

import "fmt"

// Source is where one field's value comes from. Double fields are written with six decimals, the others as integers.
// Read returns false where the GPU does not have the field: DCGM's blank, which the exporter drops.
type Source struct {
	Unit   string
	Double bool
	Read   func(Reading) (float64, bool)
	Text   func(Reading) string // fields that are words; "" is blank
}

// The blanks of DCGM: any value from these on is none. Source: dcgm_structs.h.
const (
	blankInt    = 0x7ffffffffffffff0
	blankDouble = 140737488355328.0
)

// Value is the field as the exporter writes it; false for a blank.
func Value(id int, r Reading) (string, bool) {
	source, ok := sources[id]
	if !ok {
		return "", false
	}
	if source.Text != nil {
		text := source.Text(r)
		return text, text != ""
	}
	number, ok := source.Read(r)
	switch {
	case !ok:
		return "", false
	case source.Double:
		return fmt.Sprintf("%f", number), number < blankDouble
	case number >= blankInt:
		return "", false
	}
	return fmt.Sprintf("%d", int64(number)), true
}

// Simulated says whether the field can have a value at all.
func Simulated(id int) bool { _, ok := sources[id]; return ok }

// Profiled says whether this GPU's model has the profiling field.
func Profiled(id int, r Reading) bool {
	source, ok := sources[id]
	if !ok || source.Read == nil {
		return false
	}
	_, ok = source.Read(r)
	return ok
}

// key reads the state's key, with a default.
func key(name, unit string, otherwise float64) Source {
	return Source{Unit: unit, Read: func(r Reading) (float64, bool) { return r.number(name, otherwise), true }}
}

// of computes a value that every GPU has.
func of(unit string, value func(Reading) float64) Source {
	return Source{Unit: unit, Read: func(r Reading) (float64, bool) { return value(r), true }}
}

// where gives a value only to the GPUs that have it.
func (s Source) where(has func(Reading) bool) Source {
	read := s.Read
	s.Read = func(r Reading) (float64, bool) {
		if !has(r) {
			return 0, false
		}
		return read(r)
	}
	return s
}

func (s Source) double() Source { s.Double = true; return s }

func never() Source { return Source{Read: func(Reading) (float64, bool) { return 0, false }} }
