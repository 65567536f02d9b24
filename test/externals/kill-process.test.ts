// The real program with an external agent, killed with SIGKILL or asked to end in the middle of a command, and continued by another process.
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startProviderServer } from '../../src/testing/provider-server.ts';
import { createPlace } from '../cli/support-process.ts';
import { fakeAgent, processesWith, realKey } from './support.ts';

const usage = { input: 100, output: 10 };
const list = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

async function createAgentPlace(capabilities: object) {
  // Other tests start the same agent: this one is found by its arguments and its command.
  const tag = randomInt(1e9, 1e10);
  const command = `sleep 15.${tag}`;
  const provider = await startProviderServer({
    answer: ({ n }) => (n === 1 ? { calls: [{ tool: 'Bash', args: { command } }], usage } : { text: 'Finished.', usage }),
  });
  const temporary = mkdtempSync(join(tmpdir(), 'retinue-sockets-'));
  const place = createPlace(
    {},
    {
      ...{ ANTHROPIC_API_KEY: realKey, ANTHROPIC_BASE_URL: provider.url, RETINUE_MODEL: 'anthropic/claude-sonnet-4-5' },
      TMPDIR: temporary,
    },
  );
  const agents = join(place.folder, '.config/retinue/agents');
  mkdirSync(agents, { recursive: true });
  const runs = JSON.stringify({ acp: [fakeAgent, JSON.stringify({ turns: [[{ model: {} }]], capabilities, tag })] });
  writeFileSync(join(agents, 'fake.md'), `---\nname: fake\ndescription: a fake\nruns: ${runs}\n---\nYou are a fake.\n`);
  const left = () => ({
    homes: list(join(place.folder, '.local/state/retinue/externals')).length,
    sockets: list(temporary).filter((name) => name.startsWith('retinue-gate-')).length,
  });
  const dispose = async () => {
    await provider.close();
    rmSync(temporary, { recursive: true });
  };
  const findAgents = () => processesWith(`"tag":${tag}`);
  const findCommands = () => processesWith(command.replace(' ', '\u0000'));
  return { place, left, dispose, findAgents, findCommands };
}

describe('a process with an external agent', () => {
  it.each([
    ['takes its own session up again', { loadSession: true }, 'loaded', 'Your work was interrupted and continues now'],
    ['gets the conversation as text', {}, 'new', 'This is what happened so far'],
  ])('is killed, leaves nothing, and the agent %s', async (_, capabilities, how, prompt) => {
    const { place, left, dispose, findAgents, findCommands } = await createAgentPlace(capabilities);
    using _place = place;
    const running = place.start('run', '--agent', 'fake', '--allow', 'bash', 'wait');
    await place.facts((facts) => facts.some(({ type }) => type === 'tool.asked'));
    await expect.poll(() => findCommands().length).toBeGreaterThan(0);
    running.process.kill('SIGKILL');
    await running.finished;
    await expect.poll(() => findAgents(), { timeout: 15_000 }).toEqual([]);
    expect(findCommands()).toEqual([]);
    expect(left()).toEqual({ homes: 1, sockets: 1 });
    const resumed = await place.run('resume', 'last');
    expect(resumed.out + resumed.err).toContain('Finished.');
    const facts = await place.facts((all) => all.some(({ type }) => type === 'run.ended'));
    const data = (type: string) => facts.filter((fact) => fact.type === type).map((fact) => fact.data as Record<string, unknown>);
    expect(data('tool.finished')).toMatchObject([{ status: 'unknown' }]);
    expect(data('session.opened')).toMatchObject([{ how: 'new' }, { how }]);
    expect(data('session.prompted')[1]?.text).toContain(prompt);
    expect(data('session.prompted')[1]?.text).toContain('It is not known whether this call took effect');
    expect(left()).toEqual({ homes: 0, sockets: 0 });
    await dispose();
  });

  it('is killed, and its folders are deleted by `doctor --repair` and when the run is cancelled', async () => {
    const { place, left, dispose, findAgents } = await createAgentPlace({});
    using _place = place;
    const running = place.start('run', '--agent', 'fake', '--allow', 'bash', 'wait');
    await place.facts((facts) => facts.some(({ type }) => type === 'tool.asked'));
    running.process.kill('SIGKILL');
    await running.finished;
    await expect.poll(() => findAgents(), { timeout: 15_000 }).toEqual([]);
    const check = async (...args: string[]) =>
      JSON.parse((await place.run('doctor', '--json', ...args)).out).find(({ name }: { name: string }) => name === 'homes of agents');
    expect(await check()).toMatchObject({ state: 'warning', found: '1 folder left by killed processes' });
    expect(left()).toEqual({ homes: 1, sockets: 1 });
    expect(await check('--repair')).toMatchObject({ state: 'ok', found: '1 folder deleted' });
    expect(left(), 'the run can still continue in its home').toEqual({ homes: 1, sockets: 0 });
    await place.run('cancel', 'last');
    expect(left()).toEqual({ homes: 0, sockets: 0 });
    expect(await check()).toBeUndefined();
    await dispose();
  });

  it('is asked to end and leaves nothing', async () => {
    const { place, left, dispose, findAgents } = await createAgentPlace({});
    using _place = place;
    const running = place.start('run', '--agent', 'fake', '--allow', 'bash', 'wait');
    await place.facts((facts) => facts.some(({ type }) => type === 'tool.asked'));
    running.process.kill('SIGTERM');
    await running.finished;
    expect(findAgents()).toEqual([]);
    expect(left().sockets).toBe(0);
    await dispose();
  });
});
