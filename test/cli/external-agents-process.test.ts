// `retinue agents` with external agents, as a user sees them: which are installed, and who keeps each promise.
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createPlace } from './support-process.ts';

it('lists the programs, their versions and what is enforced, also with their own login', { timeout: 180_000 }, async () => {
  using place = createPlace({});
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(place.folder, path)), { recursive: true });
    writeFileSync(join(place.folder, path), text);
  };
  // Outside the workspace: a workspace must not choose what is started.
  const programs = `${place.folder}-programs`;
  mkdirSync(programs);
  for (const name of ['claude', 'claude-agent-acp']) {
    writeFileSync(join(programs, name), '#!/bin/sh\necho 2.1.325\n');
    chmodSync(join(programs, name), 0o755);
  }
  write('.config/retinue/agents/coder.md', '---\nname: coder\ndescription: codes\nruns: claude\n---\nCode.\n');
  write('.config/retinue/agents/mine.md', '---\nname: mine\ndescription: codes\nruns: { program: claude, login: own }\n---\nCode.\n');
  const run = async (...args: string[]) => {
    const { out, err, code } = await place.startWith({ PATH: [programs, process.env.PATH].join(delimiter) }, ...args).finished;
    expect(code, err).toBe(0);
    return out;
  };

  const table = await run('agents', 'programs');
  expect(table).toMatch(/^claude +2\.1\.325 +gate +gate +gate +gate +\S+/m);
  expect(table).toMatch(/^claude, login: own +2\.1\.325 +own word +own word +own word +own word/m);
  expect(table).toMatch(/^codex: the program codex was not found; install it: `npm install -g @openai\/codex`$/m);
  expect(await run('agents')).toContain(table.split('\n')[1]);

  const rows = JSON.parse(await run('agents', 'programs', '--json'));
  expect(rows).toMatchObject([
    { program: 'claude', installed: true, version: '2.1.325', problem: null, enforced: { budget: 'yes' } },
    { program: 'codex', installed: false, version: null, problem: expect.stringContaining('not found'), enforced: { budget: 'yes' } },
    { program: 'opencode', installed: false, version: null },
  ]);
  expect(rows[0].promises.own).toContainEqual({ promise: 'budget', by: 'agent', how: 'no model call can be stopped' });

  const agents = JSON.parse(await run('agents', '--json'));
  const row = (name: string) => agents.find((agent: { name: string }) => agent.name === name);
  const keys = ['rules', 'budget', 'tokens', 'key', 'writes', 'network', 'processes'];
  expect(Object.keys(row('coder').enforced)).toEqual(keys);
  expect(row('coder')).toMatchObject({ installed: true, version: '2.1.325', enforced: { rules: 'yes', key: 'yes', processes: 'yes' } });
  expect(row('mine').enforced).toMatchObject({ rules: "agent's word", budget: 'no', tokens: "agent's word", key: 'no', network: 'no' });
  expect(row('general')).not.toHaveProperty('installed');
  const external = (name: string) => agents.find((agent: { name: string }) => agent.name === name).external;
  expect(external('coder')).toMatchObject({ program: 'claude', version: '2.1.325', login: 'gate' });
  expect(external('mine')).toMatchObject({
    login: 'own',
    promises: expect.arrayContaining([expect.objectContaining({ promise: 'key', by: 'agent' })]),
  });
  expect(external('general')).toBeUndefined();

  const explained = await run('agents', 'explain', 'mine');
  expect(explained).toMatch(/^files +its own copy of the workspace/m);
  expect(explained).toMatch(/^ {2}budget +own word +no model call can be stopped$/m);
  expect(explained).toMatch(/^ {2}delegate +deny +an external agent has its own tools$/m);
  rmSync(programs, { recursive: true });
});
