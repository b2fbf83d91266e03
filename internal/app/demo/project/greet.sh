#!/bin/sh
# Prints a greeting for NAME.
echo "Helo, $1!"
