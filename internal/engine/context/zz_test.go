package contextfiles

import (
	"fmt"
	"syscall"
	"testing"
)

func cpu() int64 {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return (r.Utime.Nano() + r.Stime.Nano())
}
func TestZZ(t *testing.T) {
	dir := "/tmp/h43/m/trusted"
	p := Places{Project: dir, Trusted: true, Home: "/tmp/h43/m/home-trusted0", Own: "/tmp/h43/m/home-trusted0/.adze", Seals: map[string]string{}}
	sealed, _ := (Places{Project: dir}).Sealed()
	for _, s := range sealed {
		p.Seals[s.Path] = s.Seal
	}
	run := func(name string, f func()) {
		f()
		c := cpu()
		for range 300 {
			f()
		}
		fmt.Printf("%s %.3f ms cpu\n", name, float64(cpu()-c)/300/1e6)
	}
	run("skills", func() { Skills(p) })
	run("agents", func() { Agents(p) })
	run("commands", func() { Commands(p) })
	all, _ := Skills(p)
	run("about38", func() {
		for _, s := range all[:38] {
			s.About()
		}
	})
	run("requests", func() { p.Requests() })
	run("load", func() { Load(Options{Dir: dir, Home: "/tmp/h43/m/home-trusted0"}) })
}
