// The bounds of sending notifications: how many at once, how long, and what happens at the end of the process.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTestMessage } from '../../src/notify/message.ts';
import { createNotifier } from '../../src/notify/notifier.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'retinue-notify-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const message = () => createTestMessage({ workspace: '/work', db: '/work/x.db' }, new Date());

function create(command: string[], timeouts = {}) {
  const warnings: string[] = [];
  const env = { PATH: process.env.PATH };
  return { warnings, notifier: createNotifier({ settings: { command }, env, home, warn: (text) => warnings.push(text), timeouts }) };
}

/** Marks that it runs, and ends when the file `go` exists. */
const waitForGo = `
  require('node:fs').writeFileSync('running-' + process.pid, '');
  setInterval(() => { if (require('node:fs').existsSync('go')) process.exit(0); }, 10);
`;

it('runs at most four commands at once and keeps at most a hundred waiting', async () => {
  const { notifier, warnings } = create([process.execPath, '-e', waitForGo], { closeMs: 1 });
  for (let i = 0; i < 110; i++) notifier.notify(message());
  expect(warnings).toEqual(['notifications are left out: they come faster than they can be sent']);
  const running = () => readdirSync(home).filter((name) => name.startsWith('running-')).length;
  await expect.poll(running, { timeout: 10_000 }).toBe(4);
  writeFileSync(join(home, 'go'), '');
  await expect.poll(running, { timeout: 60_000 }).toBeGreaterThan(4);
  await notifier.close();
});

it('stops what is still being sent after the time at the end, and says so', async () => {
  const { notifier, warnings } = create([process.execPath, '-e', waitForGo], { closeMs: 50 });
  for (let i = 0; i < 6; i++) notifier.notify(message());
  await notifier.close();
  expect(warnings.filter((text) => text.includes('was still running when this command ended'))).toHaveLength(4);
  expect(warnings).toContain('2 notifications were not sent: this command ended before');
});

it('stops a command that takes too long', async () => {
  const { notifier } = create([process.execPath, '-e', 'setInterval(() => {}, 1000)'], { commandMs: 50 });
  expect(await notifier.send(message())).toEqual([{ to: 'command', failure: 'it was stopped after 0.05 s' }]);
});

it('starts no program from the workspace or from a relative folder of PATH, and finds one below the home folder', async () => {
  const workspace = mkdtempSync(join(tmpdir(), 'retinue-work-'));
  for (const folder of [workspace, home]) writeFileSync(join(folder, 'told'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  const sent = (command: string[]) => {
    const env = { PATH: `${workspace}:.:/usr/bin` };
    return createNotifier({ settings: { command }, env, home, warn: () => {} }).send({ ...message(), workspace });
  };
  try {
    expect(await sent(['told'])).toMatchObject([{ failure: expect.stringContaining('ENOENT') }]);
    expect(await sent(['~/told'])).toEqual([{ to: 'command', failure: null }]);
  } finally {
    rmSync(workspace, { recursive: true });
  }
});
