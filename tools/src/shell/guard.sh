group=0
while read -r line; do
  [ "$line" = done ] && exit 0
  group=$line
done
echo 1
[ "$group" -gt 1 ] && kill -KILL "-$group"
for round in 1 2 3; do
  for file in $(grep -Fls -- "$1" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    kill -KILL "${pid%/environ}"
  done
  [ -n "$2" ] && for link in /proc/[0-9]*/ns/ipc; do
    pid=${link#/proc/}
    [ "$(readlink "$link")" = "$2" ] && kill -KILL "${pid%/ns/ipc}"
  done
done
