// What the reference says of expressions: reads {context, expressions} from stdin, writes one JSON value for each: the
// text of its value, whether it is true by the language's cast, or the code of its error.
const jsonata = require("jsonata");

const truth = jsonata("$boolean($value)");
const text = jsonata("$string($value)");

async function told(expression, context) {
  let value;
  try {
    value = await jsonata(expression).evaluate(context);
  } catch (error) {
    return { error: error.code ?? String(error) };
  }
  if (value === undefined) return { text: null, truth: false };
  const bound = { value };
  return { text: await text.evaluate({}, bound), truth: (await truth.evaluate({}, bound)) ?? false };
}

async function main() {
  let input = "";
  for await (const piece of process.stdin) input += piece;
  const { context, expressions } = JSON.parse(input);
  const answers = [];
  for (const expression of expressions) answers.push(await told(expression, context));
  process.stdout.write(JSON.stringify(answers));
}

main();
