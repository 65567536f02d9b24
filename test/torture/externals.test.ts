// Kill -9 at each fact of an external agent's session and at a model call outside of its conversation. A second process completes the run.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkInvariants } from '../../src/testing/invariants.ts';
import { startProviderServer } from '../../src/testing/provider-server.ts';
import { fakeAgent } from '../externals/support.ts';
import { createTorturePlace } from './place.ts';

const usage = { input: 100, output: 10 };
const wire = 'chat';
/** Asks for a title first, then makes one call and ends. It cannot load its session, so a second process tells it what happened. */
const script = { turns: [[{ title: 'a title?', wire }, { model: { wire } }]] };

describe('kill -9 of a run of an external agent', { timeout: 120_000 }, () => {
  const call = { tool: 'Bash', args: { command: 'echo hi' } };
  let provider: Awaited<ReturnType<typeof startProviderServer>>;
  beforeAll(async () => {
    provider = await startProviderServer({
      answer: ({ body }) => {
        if (body.tools === undefined) return { text: 'A title', usage };
        return JSON.stringify(body.messages).includes('"role":"tool"') ? { text: 'Finished.', usage } : { calls: [call], usage };
      },
    });
  });
  afterAll(() => provider.close());

  it.concurrent.each([
    ...['before session.opened', 'after session.opened', 'before session.prompted', 'after session.prompted'],
    ...['before model.called', 'after model.called'],
  ])('%s: it is completed once', async (point) => {
    const place = createTorturePlace(provider.url);
    const agents = join(place.folder, '.config/retinue/agents');
    mkdirSync(agents, { recursive: true });
    const runs = JSON.stringify({ acp: [fakeAgent, JSON.stringify(script)] });
    writeFileSync(join(agents, 'fake.md'), `---\nname: fake\ndescription: a fake\nruns: ${runs}\n---\nYou are a fake.\n`);
    const first = await place.run(['run', '--agent', 'fake', '--allow', 'bash', 'work'], { point: `${point}:1` });
    expect(first, first.err).toMatchObject({ killed: true });
    const second = await place.run(['resume', 'last']);
    expect(second, second.err).toMatchObject({ code: 0 });
    expect(second.out).toContain('Finished.');
    const facts = await place.facts();
    const isRecorded = (type: string) => facts.some((fact) => fact.type === type);
    expect(['session.opened', 'session.prompted', 'model.called'].filter((type) => !isRecorded(type))).toEqual([]);
    const results = facts.flatMap((fact) => (fact.type === 'tool.finished' ? [[fact.data.status, fact.data.output]] : []));
    expect(results).toEqual([['ok', 'hi\n']]);
    expect(await place.read((store) => checkInvariants(store))).toEqual([]);
    place.remove();
  });
});
