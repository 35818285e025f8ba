# test.sh: whether double.sh doubles
passed=0
for number in 0 2 21; do
  [ "$(sh double.sh $number)" = $((2 * number)) ] || { echo "the double of $number is wrong"; exit 1; }
  passed=$((passed + 1))
done
echo "$passed passed"
