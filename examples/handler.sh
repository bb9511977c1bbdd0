#!/bin/sh
# A worker for tasks called `shout`: its payload comes on standard input, its result goes to standard output.
#   fairlead worker --exec examples/handler.sh --model shout
sed -e 's/.*"text":"\([^"]*\)".*/\1/' | tr 'a-z' 'A-Z'
