package dcgm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// options are a subsystem's, by their long name. As TCLAP reads them: --name value, --name=value, -n value, -nvalue.
type options map[string]string

// parse reads the command line of a subsystem. `known` has "s:long" for each; "=" behind it: with a value. --host is
// known to all.
func parse(arguments []string, known string) (options, error) {
	found := options{}
	names := append(strings.Fields(known), "host=")
	for i := 0; i < len(arguments); i++ {
		word, value, inline := strings.Cut(arguments[i], "=")
		at := slices.IndexFunc(names, func(name string) bool { return matches(strings.TrimSuffix(name, "="), word) })
		if at < 0 && len(word) > 2 && word[0] == '-' && word[1] != '-' {
			value, word, inline = arguments[i][2:], word[:2], true
			at = slices.IndexFunc(names, func(name string) bool { return matches(strings.TrimSuffix(name, "="), word) })
		}
		if at < 0 {
			return nil, fmt.Errorf("Couldn't find match for argument for arg %s", arguments[i])
		}
		name := names[at]
		_, long, ok := strings.Cut(name, ":")
		if !ok {
			long = name
		}
		if !strings.HasSuffix(name, "=") {
			found[long] = ""
			continue
		}
		if !inline {
			if i++; i == len(arguments) {
				return nil, fmt.Errorf("Missing a value for this argument! for arg %s", word)
			}
			value = arguments[i]
		}
		found[strings.TrimSuffix(long, "=")] = value
	}
	return found, nil
}

// parseGroup reads the number of --group, too: 0, all GPUs, where it is not given.
func parseGroup(arguments []string, known string) (options, int, error) {
	given, err := parse(arguments, known)
	if err != nil {
		return nil, 0, err
	}
	id, err := given.number("group", 0)
	return given, id, err
}

func matches(name, word string) bool {
	short, long, ok := strings.Cut(name, ":")
	if !ok {
		return word == "--"+name
	}
	return word == "-"+short || word == "--"+long
}

func (o options) has(name string) bool { _, ok := o[name]; return ok }

// number is the option's value, or the default where it is not given.
func (o options) number(name string, otherwise int) (int, error) {
	if !o.has(name) {
		return otherwise, nil
	}
	value, err := strconv.Atoi(o[name])
	if err != nil {
		return 0, fmt.Errorf("Couldn't read argument value from string '%s' for arg (--%s)", o[name], name)
	}
	if value < 0 {
		return 0, fmt.Errorf("Positive value expected, negative value found for arg %s", name)
	}
	return value, nil
}
