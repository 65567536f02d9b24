#!/usr/bin/env node
// An external agent for tests: speaks ACP on its standard streams and does what the script in its first argument says, one list of steps for each prompt.
import { execSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { wires } from './fake-wires.mjs';

const script = JSON.parse(process.argv[2] ?? '{}');
const { turns = [], capabilities = {}, state = null, ignoresCancel = false } = script;
let turn = state !== null && existsSync(state) ? Number(readFileSync(state, 'utf8')) : 0;
let nextId = 1;
let servers = [];
let isCancelled = false;
const waiting = new Map();
const history = [];

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const update = (fields) => send({ method: 'session/update', params: { sessionId: 's1', update: fields } });
const say = (text) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const request = (method, params) => {
  const id = nextId++;
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
};
const shell = (command) => {
  try {
    return { output: execSync(command, { encoding: 'utf8', timeout: 20_000, stdio: ['ignore', 'pipe', 'pipe'] }), failed: false };
  } catch (error) {
    return { output: `${error.stdout ?? ''}${error.stderr ?? ''}${error.message}`, failed: true };
  }
};
const options = [
  { optionId: 'always', kind: 'allow_always', name: 'Always' },
  { optionId: 'yes', kind: 'allow_once', name: 'Yes' },
  { optionId: 'no', kind: 'reject_once', name: 'No' },
];

async function callTool({ id, name = 'Bash', kind = 'execute', input, ask = 1, obeys = true, endsOnRefusal = false }) {
  const call = { toolCallId: id, name, title: name, kind, rawInput: input };
  update({ sessionUpdate: 'tool_call', ...call, status: 'pending' });
  const answers = [];
  for (let n = 0; n < ask; n++)
    answers.push((await request('session/request_permission', { sessionId: 's1', toolCall: call, options })).outcome);
  const isAllowed = answers.every(({ optionId }) => optionId === 'yes');
  if (obeys && ask > 0 && !isAllowed) {
    update({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'failed', content: text('refused') });
    return endsOnRefusal ? 'end' : null;
  }
  const { output, failed } = shell(input.command);
  update({ sessionUpdate: 'tool_call_update', toolCallId: id, status: failed ? 'failed' : 'completed', content: text(output) });
  return null;
}
const text = (value) => [{ type: 'content', content: { type: 'text', text: value } }];

const gate = (path, init) => fetch(`${process.env.RETINUE_GATE_URL}${path}`, init);
const headers = () => ({
  'content-type': 'application/json',
  'x-api-key': process.env.RETINUE_GATE_TOKEN,
  'anthropic-version': '2023-06-01',
});

/** Calls the model through the gate, executes its calls without asking, and repeats that until it has none. */
async function useModel(prompt, more = {}) {
  const wire = wires[more.wire ?? 'messages'];
  if (prompt !== null) history.push(wire.user(prompt));
  for (;;) {
    const model = process.env.RETINUE_GATE_MODEL;
    const body = wire.body(history, { model, tools: wire.tools, stream: more.stream ?? true, ...more.body });
    const response = await gate(wire.path, { method: 'POST', headers: headers(), body: JSON.stringify(body) });
    const raw = await response.text();
    if (!response.ok) return say(`gate ${response.status}: ${raw.slice(0, 300)}`);
    const { entries, texts, calls } = wire.read(raw, body.stream);
    history.push(...entries);
    for (const each of texts) say(each);
    if (calls.length === 0) return;
    const results = [];
    for (const { id, name, input } of calls) {
      update({ sessionUpdate: 'tool_call', toolCallId: id, name, title: name, kind: 'execute', status: 'in_progress', rawInput: input });
      const { output, failed } = name === 'Bash' ? shell(input.command) : await submit(input);
      update({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'completed', content: text(output) });
      results.push({ id, output, failed });
    }
    history.push(...wire.results(results));
    if (more.exitAfterCall) process.exit(9);
  }
}

/** Calls the model many times and closes each connection: when the answer begins, some milliseconds later, or some after the request. */
async function cutCalls({ times, tools = false, stream = true, afterMs, afterBeginMs, pad = 0 }) {
  const wire = wires.messages;
  const model = process.env.RETINUE_GATE_MODEL;
  const history = [wire.user('x'.repeat(pad))];
  const body = JSON.stringify(wire.body(history, { model, stream, ...(tools && { tools: wire.tools }) }));
  for (let n = 0; n < times && !isCancelled; n++) {
    const cut = new AbortController();
    if (afterMs !== undefined) setTimeout(() => cut.abort(), afterMs);
    try {
      const response = await gate(wire.path, { method: 'POST', headers: headers(), body, signal: cut.signal });
      const reader = response.body.getReader();
      if (afterBeginMs !== undefined) {
        await reader.read();
        setTimeout(() => cut.abort(), afterBeginMs);
      }
      while ((afterMs ?? afterBeginMs) !== undefined && !(await reader.read()).done);
    } catch {}
    cut.abort();
    // The gate serves the conversation one call at a time.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Hands in a result over the MCP server that the client named. */
function submit(value) {
  const [{ command, args }] = servers;
  const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ask = (id, method, params) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  return new Promise((resolve) => {
    createInterface({ input: server.stdout }).on('line', (line) => {
      const { id, result } = JSON.parse(line);
      if (id === 1) ask(2, 'tools/call', { name: 'submit_result', arguments: value });
      if (id !== 2) return;
      server.kill();
      resolve({ output: result.content[0].text, failed: result.isError });
    });
    ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'fake', version: '1' } });
  });
}

async function take(step, prompt) {
  if (step.say !== undefined) say(step.say);
  if (step.echo) say(prompt);
  if (step.think !== undefined) update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: step.think } });
  if (step.call) return callTool(step.call);
  if (step.calls) await Promise.all(step.calls.map(callTool));
  if (step.huge) for (let left = step.huge; left > 0; left -= 65_536) say('x'.repeat(Math.min(left, 65_536)));
  if (step.line) process.stdout.write(`${'y'.repeat(step.line)}\n`);
  if (step.garbage) process.stdout.write('not JSON\n{"jsonrpc":"2.0","method":"session/update","params":{"update":7}}\n');
  if (step.fs) say(JSON.stringify(await request('fs/write_text_file', { path: '/etc/x', content: '' })));
  if (step.leave) spawn('setsid', ['sleep', '600'], { detached: true, stdio: 'ignore' }).unref();
  if (step.exit !== undefined) process.exit(step.exit);
  if (step.report) say(shell(step.report).output);
  if (step.env) say(JSON.stringify(process.env));
  if (step.model) await useModel(step.prompt ?? prompt, step.model);
  if (step.cut) await cutCalls(step.cut);
  if (step.title) await useModel(step.title, { wire: step.wire, body: { tools: undefined } });
  if (step.submit) say((await submit(step.submit)).output);
  if (step.http) {
    const { path, token, body, method = 'POST' } = step.http;
    const sent = { ...headers(), ...(token && { 'x-api-key': token }) };
    const response = await gate(path, { method, headers: sent, ...(body && { body: JSON.stringify(body) }) });
    say(`${response.status} ${(await response.text()).slice(0, 200)} `);
  }
  if (step.hang) await new Promise((resolve) => setInterval(() => isCancelled && !ignoresCancel && resolve(), 10));
  return null;
}

async function prompt({ prompt: blocks }) {
  const given = blocks.map((block) => block.text).join('\n');
  const steps = turns[Math.min(turn, turns.length - 1)] ?? [];
  turn++;
  isCancelled = false;
  if (state !== null) writeFileSync(state, String(turn));
  for (const step of steps) if ((await take(step, given)) === 'end') break;
  return { stopReason: isCancelled ? 'cancelled' : (script.stop ?? 'end_turn'), ...(script.usage && { usage: script.usage }) };
}

const answers = {
  initialize: () => ({
    protocolVersion: script.protocol ?? 1,
    agentCapabilities: capabilities,
    agentInfo: { name: 'fake', version: '1.2.3' },
  }),
  'session/new': ({ mcpServers }) => {
    servers = mcpServers;
    if (script.refuses) throw new Error(script.refuses);
    return { sessionId: 's1' };
  },
  'session/load': ({ mcpServers }) => {
    servers = mcpServers;
    say('this was said before');
    return {};
  },
  'session/prompt': prompt,
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) return waiting.get(id)?.(result ?? error);
  if (method === 'session/cancel') isCancelled = true;
  if (id === undefined) return;
  try {
    if (script.silentAt === method) return;
    send({ id, result: await answers[method](params) });
  } catch (problem) {
    send({ id, error: { code: -32000, message: problem.message } });
  }
});
if (!script.staysAtEnd) process.stdin.on('end', () => process.exit(0));
