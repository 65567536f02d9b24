// Everything that the agent sends, against the published schema of the protocol. The SDK would silently drop optional fields that do not match it.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { bin, createSetup } from './support.ts';

const file = new URL('../../../schema/v1/schema.json', import.meta.resolve('@agentclientprotocol/sdk'));
const schema = JSON.parse(readFileSync(fileURLToPath(file), 'utf8'));
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(schema, 'acp');

function findProblems(definition: string, value: unknown): string[] {
  const validate = ajv.compile({ $ref: `acp#/$defs/${definition}` });
  return validate(value) ? [] : [`${definition}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value).slice(0, 300)}`];
}

/** Keys that the schema does not know, at the top of an update: a misspelt one would be no error. */
function findUnknownKeys(update: Record<string, unknown>): string[] {
  const variants = schema.$defs.SessionUpdate.oneOf as { properties: Record<string, { const?: string }>; allOf?: { $ref: string }[] }[];
  const variant = variants.find(({ properties }) => properties.sessionUpdate?.const === update.sessionUpdate);
  const name = variant?.allOf?.[0]?.$ref.split('/').at(-1) as string;
  const known = ['sessionUpdate', ...Object.keys(schema.$defs[name].properties)];
  return Object.keys(update).filter((key) => !known.includes(key));
}

const results: Record<string, string> = {
  initialize: 'InitializeResponse',
  'session/new': 'NewSessionResponse',
  'session/load': 'LoadSessionResponse',
  'session/resume': 'ResumeSessionResponse',
  'session/list': 'ListSessionsResponse',
  'session/prompt': 'PromptResponse',
  'session/set_mode': 'SetSessionModeResponse',
  'session/set_config_option': 'SetSessionConfigOptionResponse',
  'session/close': 'CloseSessionResponse',
};

it('matches the schema: updates, questions, results and errors', async () => {
  const items = [{ text: 'Do it', status: 'in_progress' }];
  await using setup = await createSetup(
    ({ body }) => {
      const text = JSON.stringify(body.messages);
      if (text.includes('child task')) return { text: 'the child is done' };
      if (text.includes('fail now')) return { fault: { kind: 'status', status: 401, message: 'no' } };
      if (text.includes('plan it'))
        return text.includes('in_progress') ? { text: 'planned' } : { calls: [{ tool: 'todo', args: { items } }] };
      const steps = [
        { reasoning: 'hm', signature: 's', text: 'I begin.', calls: [{ tool: 'read', args: { path: 'a.txt', offset: 1 } }] },
        { calls: [{ tool: 'edit', args: { path: 'a.txt', old: 'one', new: 'two' } }] },
        { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'child task', agent: 'explore' }] } }] },
        { text: 'Done.' },
      ];
      return steps[Math.min((text.match(/tool_result/g) ?? []).length, 3)] as object;
    },
    { 'a.txt': 'one\n' },
  );
  const child = spawn(process.execPath, [bin, 'acp'], { cwd: setup.home, env: setup.env, stdio: 'pipe' });
  const asked = new Map<number, string>();
  const waiting = new Map<number, (message: { result: Record<string, unknown> }) => void>();
  const problems: string[] = [];
  const kinds = new Set<string>();
  let id = 0;
  const write = (message: object) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const request = (method: string, params: object) => {
    asked.set(++id, method);
    const answered = Promise.withResolvers<{ result: Record<string, unknown> }>();
    waiting.set(id, answered.resolve);
    write({ id, method, params });
    return answered.promise;
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.method === 'session/update') {
      problems.push(...findProblems('SessionNotification', message.params), ...findUnknownKeys(message.params.update));
      kinds.add(message.params.update.sessionUpdate);
    } else if (message.method === 'session/request_permission') {
      problems.push(...findProblems('RequestPermissionRequest', message.params));
      kinds.add('question');
      write({ id: message.id, result: { outcome: { outcome: 'selected', optionId: 'allow' } } });
    } else if ('result' in message || 'error' in message) {
      const definition = 'error' in message ? 'Error' : (results[asked.get(message.id) as string] as string);
      problems.push(...findProblems(definition, message.error ?? message.result));
      waiting.get(message.id)?.(message);
    } else problems.push(line);
  });
  await request('initialize', { protocolVersion: 1, clientCapabilities: { session: { notices: {} } } });
  const setupOf = { cwd: setup.folder, mcpServers: [{ name: 'broken', command: '/does/not/exist', args: [], env: [] }] };
  const { sessionId } = (await request('session/new', setupOf)).result as { sessionId: string };
  const prompt = (text: string) => request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  await request('session/set_config_option', { sessionId, configId: 'mode', value: 'ask' });
  await prompt('begin');
  await request('session/set_mode', { sessionId, modeId: 'plan' });
  await prompt('plan it');
  await prompt('fail now');
  await request('session/list', { cwd: setup.folder });
  await request('session/close', { sessionId });
  await request('session/load', { sessionId, ...setupOf });
  await request('session/resume', { sessionId, cwd: setup.folder });
  child.stdin.end();
  await new Promise((done) => child.once('close', done));
  expect(problems).toEqual([]);
  expect([...kinds].sort()).toEqual([
    'agent_message_chunk',
    'agent_thought_chunk',
    'config_option_update',
    'current_mode_update',
    'notice',
    'plan',
    'question',
    'session_info_update',
    'tool_call',
    'tool_call_update',
    'usage_update',
    'user_message_chunk',
  ]);
});
