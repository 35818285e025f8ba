# double.sh NUMBER: prints its double
echo $(($1 + $1 + 1))
