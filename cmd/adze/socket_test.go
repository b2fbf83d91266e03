package main

import (
	"fmt"
	"net"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// listenUnix answers at a socket that is a file: listen FILE.
func listenUnix(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: listen FILE")
	}
	l, err := net.Listen("unix", args[0])
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
}

// dialUnix is a program that wants to be answered there: dialunix FILE.
func dialUnix() {
	c, err := net.Dial("unix", os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	c.Close()
	fmt.Println("answered")
}
