package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// unpackRPM writes the files of a package below a directory, as rpm2cpio and cpio do: after a lead of 96 bytes, two headers
// and a compressed archive.
func unpackRPM(t *testing.T, path, to string) {
	t.Helper()
	rest, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rest = rest[96:]
	for i := range 2 {
		if !bytes.HasPrefix(rest, []byte{0x8e, 0xad, 0xe8, 1}) {
			t.Fatalf("%s: header %d doesn't begin with its magic number", path, i+1)
		}
		n := 16 + 16*int(binary.BigEndian.Uint32(rest[8:])) + int(binary.BigEndian.Uint32(rest[12:]))
		if i == 0 {
			n = (n + 7) / 8 * 8 // the signature is padded
		}
		rest = rest[n:]
	}
	z, err := gzip.NewReader(bytes.NewReader(rest))
	if err != nil {
		t.Fatal(err)
	}
	archive, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; ; {
		field := func(i int) int { // of the 13 after the magic number, in hexadecimal
			n, err := strconv.ParseInt(string(archive[at+6+8*i:at+14+8*i]), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		round := func(n int) int { return (n + 3) / 4 * 4 }
		mode, size, length := field(1), field(6), field(11)
		name, begin := string(archive[at+110:at+110+length-1]), round(at+110+length)
		if name == "TRAILER!!!" {
			return
		}
		at = round(begin + size)
		if mode&0o170000 != 0o100000 {
			continue
		}
		file := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, archive[begin:begin+size], os.FileMode(mode&0o777)); err != nil {
			t.Fatal(err)
		}
	}
}
