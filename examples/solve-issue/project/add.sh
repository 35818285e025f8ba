# Prints the sum of its arguments.
sum=0
for n in "$1" "$2"; do
  sum=$((sum + n))
done
echo "$sum"
