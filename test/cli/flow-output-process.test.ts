// A flow shares its process with the command: what it prints does not mix with the result.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace } from './support-process.ts';

const script = { runs: [{ times: 'any', steps: [{ text: 'fine' }] }] };

describe('what a flow prints', () => {
  it('goes to standard error, wherever the flow prints it, and the result is all of standard output', async () => {
    using place = createPlace(script);
    const flow = `
import { defineFlow } from 'retinue/flow';
import { stdout } from 'node:process';
import { log } from 'node:console';
log('printed 1');
export default defineFlow('prints', null, async (flow) => {
  console.log('printed %d', 2);
  stdout.write('printed 3\\n');
  const { summary } = await flow.delegate({ task: 'x' });
  console.info('printed 4');
  await flow.step('x', async () => {
    await new Promise((done) => setTimeout(done, 1));
    console.table(['printed 5']);
  });
  await new Promise<void>((done) => setTimeout(() => done(console.debug('printed 6')), 1));
  return { summary };
});
`;
    writeFileSync(join(place.folder, 'prints.ts'), flow);
    const [text, json, stream] = await Promise.all([
      place.run('flow', 'run', './prints.ts'),
      place.run('flow', 'run', './prints.ts', '--json'),
      place.run('flow', 'run', './prints.ts', '--stream-json'),
    ]);
    for (const { code, err } of [text, json, stream]) {
      expect(code).toBe(0);
      for (const n of [1, 2, 3, 4, 5, 6]) expect(err).toContain(`printed ${n}`);
    }
    expect(JSON.parse(text.out)).toEqual({ summary: 'fine' });
    expect(JSON.parse(json.out)).toMatchObject({ status: 'completed', data: { summary: 'fine' } });
    const lines = stream.out.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line)).length).toBeGreaterThan(5);
    // The events of what the flow begins are printed by the command.
    expect(stream.out).toContain('child.ended');
    expect(stream.out).not.toContain('printed');
  }, 60_000);
});
