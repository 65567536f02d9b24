// Secrets of the supervisor's environment are looked for wherever something of a run is kept or shown: in the processes that it starts, facts,
// database, logs, errors and exports.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createPlace } from './support-process.ts';

const canaries = {
  ANTHROPIC_API_KEY: 'canary-of-a-provider-0001',
  MY_SERVICE_TOKEN: 'canary-of-a-token-0002',
  CUSTOM_VARIABLE: 'canary-named-by-apiKeyEnv-0003',
  SERVER_VARIABLE: 'canary-of-an-mcp-server-0004',
  DATABASE_URL: 'postgres://me:canary-in-an-address-0005@host/db',
};
const needles = [...Object.values(canaries).slice(0, 4), 'canary-in-an-address-0005'];
const hits = (text: string) => needles.filter((needle) => text.includes(needle));

/** Written by the test, or by the model, whose calls are executed as it wrote them. */
const own = new Set(['leak.txt', 'copy.txt', 'script.json', 'retinue.config.json', 'server.mjs']);

function everyFile(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile() && !own.has(found.name))
    .map((found) => readFileSync(join(found.parentPath, found.name), 'latin1'))
    .join('\n');
}

/** The environments of all processes below one. One that has not begun its own program yet is still a copy of that one. */
function below(pid: number): string {
  const itself = commandLine(pid);
  const list = spawnSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' }).stdout.trim().split('\n');
  const parents = new Map(list.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]));
  const isBelow = (at: number | undefined): boolean => at !== undefined && at > 1 && (parents.get(at) === pid || isBelow(parents.get(at)));
  return [...parents.keys()]
    .filter(isBelow)
    .map((each) => {
      try {
        const command = commandLine(each);
        return command === itself ? '' : `${command}\n${readFileSync(`/proc/${each}/environ`, 'latin1')}`;
      } catch {
        return '';
      }
    })
    .join('\n');
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

const calls = [
  { tool: 'bash', args: { command: 'env; cat /proc/self/environ; cat /proc/$PPID/environ | tr "\\0" "\\n"' } },
  { tool: 'read', args: { path: 'leak.txt' } },
  { tool: 'grep', args: { pattern: 'canary' } },
  { tool: 'write', args: { path: 'copy.txt', content: `the key is ${canaries.ANTHROPIC_API_KEY}` } },
  { tool: 'mcp__leaky__tell', args: {} },
];
/** Keeps the processes of the run alive until the test has looked at them. */
const waiting = { tool: 'bash', args: { command: 'touch begun; while [ ! -e seen ]; do sleep 0.1; done' } };
const script = {
  runs: [
    { when: { label: 'child' }, steps: [{ calls }, { calls: [waiting] }, { text: `I saw ${canaries.MY_SERVICE_TOKEN}` }] },
    { steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'x', label: 'child' }] } }] }, { text: 'done' }] },
  ],
};

const server = `
import { createInterface } from 'node:readline';
const send = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') send(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'leaky', version: '1' } });
  else if (method === 'tools/list') send(id, { tools: [{ name: 'tell', inputSchema: { type: 'object' } }] });
  else if (method === 'tools/call') send(id, { content: [{ type: 'text', text: 'mine is ' + process.env.SERVER_VARIABLE + ', others: ' + JSON.stringify(process.env) }] });
}`;

it.runIf(process.platform === 'linux')(
  'canary secrets: 0 hits in processes, facts, database, logs, output, errors and exports',
  { timeout: 90_000 },
  async () => {
    using place = createPlace(script, canaries);
    writeFileSync(join(place.folder, 'leak.txt'), needles.join('\n'));
    writeFileSync(join(place.folder, 'server.mjs'), server);
    const config = {
      providers: { other: { kind: 'openai-compatible', baseURL: 'http://127.0.0.1:9/v1', apiKeyEnv: 'CUSTOM_VARIABLE' } },
      mcpServers: { leaky: { command: process.execPath, args: [join(place.folder, 'server.mjs')], envFrom: ['SERVER_VARIABLE'] } },
    };
    writeFileSync(join(place.folder, 'own.json'), JSON.stringify(config));
    const run = place.start('run', '--config', 'own.json', '--host', 'process', '--allow', 'bash', `say ${canaries.ANTHROPIC_API_KEY}`);
    let environments = '';
    const look = setInterval(() => {
      const hasBegun = existsSync(join(place.folder, 'begun'));
      environments += below(run.process.pid as number);
      if (hasBegun) writeFileSync(join(place.folder, 'seen'), '');
    }, 100);
    const { code, out, err } = await run.finished;
    clearInterval(look);
    expect(code, err).toBe(0);

    // The server was given its own secret and nothing else; nobody else was given any.
    expect(environments).toContain('RETINUE_');
    expect(hits(environments).filter((needle) => needle !== canaries.SERVER_VARIABLE)).toEqual([]);
    expect(environments.split('\n').filter((line) => hits(line).length > 0 && !line.includes('RETINUE_MCP_SERVER'))).toEqual([]);

    const shown = [out, err];
    for (const args of [
      ['logs', 'last', '--tree'],
      ['logs', 'last', '--tree', '--json'],
      ['show', 'last'],
      ['show', 'last', '--json'],
      ['ps', '--all'],
      ['config', '--config', 'own.json'],
      ['config', '--config', 'own.json', '--json'],
      ['doctor', '--config', 'own.json'],
      ['agents'],
      ['export', 'last'],
      ['replay', 'last'],
    ]) {
      const finished = await place.run(...args);
      shown.push(finished.out, finished.err);
    }
    // A provider that cannot be reached, with its key.
    const failed = await place.run('run', '--config', 'own.json', '--model', 'other/x', '--timeout', '3s', 'x');
    shown.push(failed.out, failed.err);
    expect(hits(shown.join('\n'))).toEqual([]);
    expect(hits(everyFile(place.folder))).toEqual([]);
    // The calls were made, and what they gave is there without the secrets.
    expect(shown.join('\n')).toContain('[secret MY_SERVICE_TOKEN]');
    expect(shown.join('\n')).toContain('[secret SERVER_VARIABLE]');
    expect(readFileSync(join(place.folder, 'copy.txt'), 'utf8')).toContain(canaries.ANTHROPIC_API_KEY);
  },
);
