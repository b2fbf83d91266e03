package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/homedir"
	"github.com/adze-dev/adze/internal/engine/nearest"
)

// options are all flags.
type options struct {
	server, creds, ca, dir   string
	monitors                 string // URLs, separated by commas
	lease                    time.Duration
	slots                    int
	maxCost                  float64
	rpm, tpm                 int64
	mode, sandbox, secrets   string
	container, name, metrics string
	untilDone, json, watch   bool
	follow, failed, branch   bool
	output, format           string
	home                     string
	listen                   string
	work                     string // directory of mirrors and clones
}

// meant returns a suggestion of a similar name, or "".
func meant(prefix, word string, names []string) string {
	near := nearest.Names(word, names)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf("\nDid you mean '%s%s'?", prefix, near[0])
}

// unknownFlag returns the first argument that set rejected if it isn't one of its flags; otherwise "".
func unknownFlag(set *flag.FlagSet, args []string) string {
	i := len(args) - set.NArg() - 1 // it removed the arguments that it parsed
	if i < 0 {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
	if !strings.HasPrefix(args[i], "-") || set.Lookup(name) != nil {
		return ""
	}
	return name
}

// parse reads flags before, between and after words.
func parse(args []string) (*options, []string, error) {
	o := &options{}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.server, "server", "", "")
	fs.StringVar(&o.creds, "creds", "", "")
	fs.StringVar(&o.ca, "ca", "", "")
	fs.StringVar(&o.monitors, "monitor", "", "")
	fs.StringVar(&o.dir, "dir", "", "")
	fs.DurationVar(&o.lease, "lease", 0, "")
	fs.IntVar(&o.slots, "slots", 0, "")
	fs.Float64Var(&o.maxCost, "max-cost", 0, "")
	fs.Int64Var(&o.rpm, "rpm", 0, "")
	fs.Int64Var(&o.tpm, "tpm", 0, "")
	fs.StringVar(&o.mode, "approval-mode", "", "")
	fs.BoolFunc("yolo", "", func(string) error {
		o.mode = "yolo"
		return nil
	})
	fs.StringVar(&o.sandbox, "sandbox", "", "")
	fs.StringVar(&o.secrets, "secrets", "", "")
	fs.StringVar(&o.container, "container", "", "")
	fs.StringVar(&o.name, "name", "", "")
	fs.StringVar(&o.metrics, "metrics", "", "")
	fs.StringVar(&o.listen, "listen", "", "")
	fs.BoolVar(&o.untilDone, "until-done", false, "")
	fs.BoolVar(&o.json, "json", false, "")
	fs.BoolVar(&o.watch, "watch", false, "")
	fs.BoolVar(&o.follow, "f", false, "")
	fs.BoolVar(&o.failed, "failed", false, "")
	fs.BoolVar(&o.branch, "branch", false, "")
	fs.StringVar(&o.output, "o", "", "")
	fs.StringVar(&o.format, "format", "", "")
	var words []string
	for {
		if err := fs.Parse(args); err != nil {
			if name := unknownFlag(fs, args); name != "" && !errors.Is(err, flag.ErrHelp) {
				var names []string
				fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
				return nil, nil, fmt.Errorf("unknown flag --%s%s", name, meant("--", name, names))
			}
			return nil, nil, err
		}
		if fs.NArg() == 0 {
			return o, words, nil
		}
		words = append(words, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

// complete checks the flags and fills in defaults.
func (o *options) complete() error {
	switch {
	case o.maxCost < 0:
		return usagef("--max-cost must be above 0")
	case o.slots < 0:
		return usagef("--slots must be above 0")
	case o.rpm < 0 || o.tpm < 0:
		return usagef("--rpm and --tpm must be above 0")
	}
	home, err := homedir.Dir()
	if err != nil && (o.dir == "" || os.Getenv("ADZE_HOME") == "") {
		return err
	}
	o.home = home
	if o.dir != "" {
		o.work = filepath.Join(o.dir, "worker")
	} else {
		base := os.Getenv("ADZE_HOME")
		if base == "" {
			base = filepath.Join(home, ".adze")
		}
		o.dir = filepath.Join(base, "fleet")
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.work = filepath.Join(cache, "adze-fleet") // not in Adze's own directory, which sandboxes protect
	}
	if o.work, err = filepath.Abs(o.work); err != nil {
		return err
	}
	o.dir, err = filepath.Abs(o.dir)
	return err
}

// again returns the flags that another command needs to use the same queue.
func (o *options) again() string {
	text := ""
	for _, f := range [][2]string{{"--server", o.server}, {"--creds", o.creds}, {"--ca", o.ca}} {
		if f[1] != "" {
			text += " " + f[0] + " " + f[1]
		}
	}
	return text
}

func (o *options) list() []string {
	return strings.FieldsFunc(o.secrets, func(r rune) bool { return r == ',' })
}
