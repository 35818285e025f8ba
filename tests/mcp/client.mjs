// Drives `uwf mcp` by the official SDK: `node client.mjs PROGRAM ARGS… < calls`, where each line of stdin is a call
// {name, arguments} or {list: true}; prints a line of JSON for each, with the progress that was told on the way. `$THREAD`
// in arguments is the thread that was begun last.
import { createInterface } from 'node:readline/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, ...args] = process.argv.slice(2);
const transport = new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
const client = new Client({ name: 'test', version: '1' });
await client.connect(transport);
console.log(JSON.stringify({ server: client.getServerVersion() }));
let thread = '';
for await (const line of createInterface({ input: process.stdin })) {
  const { list, name, arguments: given } = JSON.parse(line.replaceAll('$THREAD', thread));
  if (list) {
    console.log(JSON.stringify(await client.listTools()));
    continue;
  }
  const progress = [];
  const onprogress = (told) => progress.push(told);
  try {
    const result = await client.callTool({ name, arguments: given }, undefined, { onprogress, timeout: 120_000 });
    thread = result.structuredContent?.thread ?? thread;
    console.log(JSON.stringify({ ...result, progress }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error.message ?? error) }));
  }
}
await client.close();
