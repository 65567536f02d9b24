// `retinue flow run --server`: a flow of the server's workspace, which must be trusted there. No program travels.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createServedPlace } from './support-server.ts';

const flow = `
import { defineFlow } from 'retinue/flow';
export default defineFlow('greet', { type: 'object', required: ['name'] }, async (flow, input: { name: string }) => {
  const { summary } = await flow.delegate({ task: 'greet', label: 'greeter' });
  return summary + ' ' + input.name;
});
`;

it('runs a trusted flow of the server by its name, and nothing else', async () => {
  const served = await createServedPlace({ runs: [{ times: 'any', steps: [{ text: 'hello' }] }] });
  try {
    const folder = join(served.place.folder, '.retinue', 'flows');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'greet.ts'), flow);
    const untrusted = await served.run('flow', 'run', 'greet', '--input', '{"name":"you"}');
    expect([untrusted.code, untrusted.err]).toEqual([2, expect.stringContaining('it is not trusted')]);
    await served.place.run('trust', '--yes');
    const done = await served.run('flow', 'run', 'greet', '--input', '{"name":"you"}');
    expect([done.code, done.out]).toEqual([0, 'hello you\n']);
    expect(await served.run('flow', 'run', 'greet')).toMatchObject({ code: 2, err: expect.stringContaining('the input of flow greet') });
    const detached = await served.run('flow', 'run', 'greet', '--input', '{"name":"all"}', '--detach');
    expect((await served.run('wait', detached.out.trim())).out).toBe('hello all\n');
    for (const [name, message] of [
      ['./greet.ts', /a server runs only the flows of its own workspace/],
      ['greet.ts', /a server runs only the flows of its own workspace/],
      ['gret', /unknown flow `gret`; did you mean `greet`/],
    ] as const)
      expect((await served.run('flow', 'run', name)).err).toMatch(message);
  } finally {
    await served.stop();
    served[Symbol.dispose]();
  }
}, 120_000);
