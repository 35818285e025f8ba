#!/bin/sh
# small.sh DIRECTORY THREAD: prints {"score": 0 to 1, "data": {…}}. Any other exit status than 0 is its own failure, no score.
lines=$(wc -l < "$1/double.sh") || exit 1
[ "$lines" -le 3 ] && score=1 || score=0
echo "{\"score\": $score, \"data\": {\"lines\": $lines}}"
