package main

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// short prints the name of a file in 8.3 form.
func short(path string) {
	from, err := windows.UTF16PtrFromString(path)
	name := make([]uint16, windows.MAX_LONG_PATH)
	if err == nil {
		_, err = windows.GetShortPathName(from, &name[0], uint32(len(name)))
	}
	if err != nil {
		panic(err)
	}
	fmt.Print(windows.UTF16ToString(name))
}
