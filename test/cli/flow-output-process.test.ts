// A flow shares its process with the command: what it prints does not mix with the result.
import { mkdirSync, writeFileSync } from 'node:fs';
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

describe('a flow that would end the process', () => {
  it('fails with the line, and the exit code of the command is not that of the flow', async () => {
    using place = createPlace(script);
    const write = (name: string, text: string) => writeFileSync(join(place.folder, name), text);
    mkdirSync(join(place.folder, 'node_modules', 'ending'), { recursive: true });
    write('node_modules/ending/package.json', '{"name":"ending","version":"1.0.0","exports":"./index.mjs"}');
    write('node_modules/ending/index.mjs', 'export const end = () => process.exit(0);');
    write(
      'ends.ts',
      `
import { exit } from 'node:process';
import { end } from 'ending';
import { defineFlow } from 'retinue/flow';
export default defineFlow('ends', null, async (flow, kind: string) => {
  if (kind === 'program') process.exit(0);
  if (kind === 'import') exit(0);
  if (kind === 'package') end();
  if (kind === 'step') await flow.step('x', () => process.exit(0));
});
`,
    );
    for (const [line, kind] of Object.entries({ 6: 'program', 7: 'import', 8: 'package', 9: 'step' })) {
      const ended = await place.run('flow', 'run', './ends.ts', '--json', '--input', JSON.stringify(kind));
      expect(ended.code, kind).toBe(1);
      const { status, error } = JSON.parse(ended.out);
      expect([status, error.message]).toEqual([
        'failed',
        expect.stringMatching(/^a flow may not end the process with process\.exit; .* \(ends\.ts:/),
      ]);
      expect(error.message).toContain(`(ends.ts:${line}`);
    }
    write('top.ts', 'process.exit(0);\n');
    expect(await place.run('flow', 'run', './top.ts')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/top\.ts:1:9: a flow may not end the process/),
    });
    write(
      'timer.ts',
      "import { defineFlow } from 'retinue/flow'; export default defineFlow('t', null, async () => new Promise(() => setTimeout(() => process.exit(0), 1)));",
    );
    const late = await place.run('flow', 'run', './timer.ts');
    expect(late).toMatchObject({ code: 1, err: expect.stringContaining('a flow may not end the process') });
  }, 60_000);
});
