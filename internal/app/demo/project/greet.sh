#!/bin/sh
# Prints a greeting for NAME.
echo "Hello, $1!"
