// The models of the agents in tests/e2e/agents_real.rs: one script on every wire, told apart by what the conversation holds.
//
// usage: node endpoint.mjs PORT note|outside|endless|refused|project. It listens on loopback only.
// note     It prints a line when it begins the answer that is not to be waited for. It answers from the conversation alone, so an
//          agent that has lost its session is found out.
// outside  The same with a command that writes where it should not, too.
// endless  It has a command run that never ends.
// refused  It knows nobody's key.
// project  It answers how often it was told of the project's tabs.

import { LLMock } from "../aimock/node_modules/@copilotkit/aimock/dist/index.js";

const usage = { prompt_tokens: 120, completion_tokens: 15, total_tokens: 135 };
const says = (content) => ({ content, usage });
const words = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");
const spoken = (request, role) =>
  request.messages.filter((message) => message.role === role).map((message) => words(message.content));

const [port, scene] = process.argv.slice(2);
const commands = {
  note: "printf 'one\\n' > note.txt",
  outside: "printf 'one\\n' > note.txt; printf x > ../home/outside",
  endless: "touch begun; tail -f /dev/null",
};
const command = commands[scene];
// How each agent's tool for commands is named, and what it is given.
const shells = {
  Bash: { command, description: "Write the note" },
  bash: { command, description: "Write the note" },
  exec_command: { cmd: command },
  run_shell_command: { command, description: "Write the note" },
  terminal: { command },
};
const WRONG = "---\n$status: done\n---\nI forgot the summary.\n";
const RIGHT = "---\n$status: done\nsummary: one line\n---\nOne line is written.\n";
const SECOND = "---\n$status: done\nsummary: two lines\n---\nA second line is written.\n";
const LOST = "---\n$status: done\nsummary: I remember nothing\n---\nI begin anew.\n";

let interrupted = false;

/** How often the project's words are in a request. */
function countsProject(request) {
  const all = request.messages.map((message) => words(message.content)).join("\n");
  return says(`---\n$status: done\nsummary: told ${all.split("Use tabs, always.").length - 1} times\n---\nSo it is.\n`);
}

/** The answer to a request, or null while the slow one is due. */
function answer(request) {
  if (scene === "project") return countsProject(request);
  const told = spoken(request, "user");
  const said = spoken(request, "assistant").join("\n");
  const last = told.at(-1) ?? "";
  const remembers = said.includes("One line is written.");
  if (last.includes("Why one line?")) {
    const known = told.join("\n").includes("One line is written.") ? "The record says so." : "Nobody told me.";
    return says(remembers ? "I was told to." : known);
  }
  if (told.join("\n").includes("A second line is wanted.")) {
    if (!interrupted) return null;
    return says(remembers ? SECOND : LOST);
  }
  if (said.includes("I forgot the summary.")) return says(RIGHT);
  if (request.messages.at(-1).role === "tool") return says(WRONG);
  const tool = (request.tools ?? []).map((tool) => tool.function.name).find((name) => name in shells);
  return tool ? { toolCalls: [{ name: tool, arguments: JSON.stringify(shells[tool]) }], usage } : says(WRONG);
}

const mock = new LLMock({ port: Number(port), host: "127.0.0.1" });
if (scene === "refused") {
  const error = { message: "nobody knows this key", type: "authentication_error", code: "invalid_api_key" };
  mock.on({ predicate: () => true }, { error, status: 401 });
}
mock.on(
  { predicate: (request) => answer(request) === null },
  () => {
    interrupted = true;
    process.stdout.write("slow\n");
    return { content: "I think about the second line, and about the first. ".repeat(40), usage };
  },
  { latency: 250, chunkSize: 20 },
);
mock.on({ predicate: () => true }, (request) => answer(request));
await mock.start();
process.stdout.write("listening\n");
