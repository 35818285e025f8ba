# Exits 0 when add.sh does what it says.
check() {
  want=$1
  shift
  got=$(sh add.sh "$@" 2>&1)
  [ "$got" = "$want" ] || { echo "add $*: want $want, got $got"; exit 1; }
}
check 3 1 2
check 6 1 2 3
check 10 1 2 3 4
check 0
echo "all passed"
