#!/bin/sh
# Tests greet.sh against README.txt.
check() {
	if [ "$1" = "$2" ]; then
		echo "ok: $1"
	else
		echo "WRONG: got '$1', want '$2'"
		exit 1
	fi
}
check "$(sh greet.sh Ada)" "Hello, Ada!"
check "$(sh greet.sh)" "Hello, world!"
