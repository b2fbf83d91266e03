#!/bin/sh
# Tests greet.sh against README.txt.
for name in Ada Grace; do
	got=$(sh greet.sh "$name")
	[ "$got" = "Hello, $name!" ] || { echo "WRONG: $got"; exit 1; }
	echo "ok: $got"
done
