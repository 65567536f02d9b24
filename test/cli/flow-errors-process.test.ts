// What a flow that is wrong says: the file, the line and, where it is known, the column.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace, type Place } from './support-process.ts';

const script = { runs: [{ times: 'any', steps: [{ text: 'fine' }] }] };

function write(place: Place, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(place.folder, name)), { recursive: true });
    writeFileSync(join(place.folder, name), text);
  }
}

const importing = (what: string) =>
  `import { defineFlow } from 'retinue/flow';\nimport ${what};\nexport default defineFlow('importing', null, async () => 1);\n`;

describe('a flow that cannot be loaded', () => {
  it('says in which file and line its syntax is wrong', async () => {
    using place = createPlace(script);
    write(place, {
      'own.ts': "import { defineFlow } from 'retinue/flow';\n\nexport default defineFlow('own', null, async () => {\n  const a: = ;\n});\n",
      'twice.ts':
        "import { defineFlow } from 'retinue/flow';\nlet a: number = 1;\n  let a = 2;\nexport default defineFlow('t', null, async () => a);\n",
      'ts.ts': importing("{ b } from './my lib/bad.ts'"),
      'my lib/bad.ts': 'export const a = 1;\nexport const b: number = = 1;\n',
      'js.ts': importing("{ b } from './bad.mjs'"),
      'bad.mjs': 'export const a = 1;\n\nexport const b = = 1;\n',
      'name.ts': importing("{ a, gone } from './good.ts'"),
      'good.ts': 'export const a: number = 1;\n',
      'file.ts': importing("{ a } from './gone.ts'"),
    });
    const where = {
      own: 'own.ts:4:12',
      twice: 'twice.ts:3:7',
      ts: 'my lib/bad.ts:2:26',
      js: 'bad.mjs:3:18',
      name: 'name.ts:2: ',
      file: 'file.ts:2 imports ./gone.ts',
    };
    for (const [name, position] of Object.entries(where))
      expect(await place.run('flow', 'run', `./${name}.ts`), name).toMatchObject({
        code: 2,
        err: expect.stringContaining(`${name}.ts cannot be loaded: ${join(place.folder, position)}`),
      });
  }, 120_000);

  it('says in which line it throws', async () => {
    using place = createPlace(script);
    write(place, {
      'top.ts': importing("'./thrower.ts'"),
      'thrower.ts': 'type A = { b: number };\n\nnull!.length;\n',
      'schema.ts': "import { defineFlow } from 'retinue/flow';\nexport default defineFlow('no name', null, async () => 1);\n",
    });
    const top = await place.run('flow', 'run', './top.ts');
    expect(top).toMatchObject({ code: 2, err: expect.stringContaining(`${join(place.folder, 'thrower.ts')}:3:7: TypeError: `) });
    const schema = await place.run('flow', 'run', './schema.ts');
    expect(schema).toMatchObject({ code: 2, err: expect.stringContaining(`${join(place.folder, 'schema.ts')}:2:16: the name of a flow`) });
  }, 60_000);
});

describe('a flow whose input schema is wrong', () => {
  it('is refused as wrong usage, and the message names the flow and the mistake', async () => {
    using place = createPlace(script);
    const flow = (schema: string) =>
      `import { defineFlow } from 'retinue/flow';\nexport default defineFlow('wrong', ${schema}, async () => 1);\n`;
    const schemas: [schema: string, problem: RegExp][] = [
      ["{ type: 'objct' }", /flow wrong: its input schema is not a valid JSON Schema: .*type must be equal to one of/],
      ["{ $ref: '#/gone' }", /flow wrong: its input schema is not a valid JSON Schema: .*#\/gone/],
      ['undefined as never', /flow wrong: the second argument of defineFlow must be a schema for the input/],
      ['[] as never', /flow wrong: the second argument of defineFlow must be a schema for the input/],
    ];
    for (const [schema, problem] of schemas) {
      write(place, { 'wrong.ts': flow(schema) });
      expect(await place.run('flow', 'run', './wrong.ts'), schema).toMatchObject({ code: 2, out: '', err: expect.stringMatching(problem) });
    }
  }, 60_000);
});

describe('a flow that throws', () => {
  it('ends with the first line of its own files, also in `show` and `logs`', async () => {
    using place = createPlace(script);
    write(place, {
      '.retinue/flows/thrower.ts': `
import { defineFlow } from 'retinue/flow';
import { parse } from '../../lib/parse.ts';
export default defineFlow('thrower', null, async (flow, kind: string) => {
  if (kind === 'step') await flow.step('x', () => parse('{'));
  if (kind === 'brief') await flow.delegate({ task: 'x', agent: 'nobody' });
  return parse('{');
});
`,
      'lib/parse.ts': 'export function parse(text: string): unknown {\n  return JSON.parse(text);\n}\n',
    });
    await place.run('trust', '--yes');
    const ends: [input: string, position: string][] = [
      ['none', '(lib/parse.ts:2:15)'],
      ['step', '(thrower.ts:5)'],
      ['brief', '(thrower.ts:6)'],
    ];
    for (const [input, position] of ends) {
      const ended = await place.run('flow', 'run', 'thrower', '--json', '--input', JSON.stringify(input));
      expect([ended.code, ended.err]).toEqual([1, expect.stringContaining(position)]);
      const { runId, error } = JSON.parse(ended.out);
      expect(error.message).toContain(position);
      expect((await place.run('show', runId)).out).toContain(position);
      expect((await place.run('logs', runId)).out).toContain(position);
    }
  }, 120_000);
});

describe('a flow that looks for files beside it', () => {
  it('is told that it has no path, with the line and what to do instead', async () => {
    using place = createPlace(script);
    const advice =
      'because files that it reads are not part of its version. Import the text from a .ts or .json file, pass it as input, or';
    write(place, {
      'prompt.md': 'Hello',
      'top.ts': `#!/usr/bin/env retinue
import { readFileSync } from 'node:fs';
import { defineFlow } from 'retinue/flow';
const prompt = readFileSync(new URL('./prompt.md', import.meta.url), 'utf8');
export default defineFlow('top', null, async () => prompt);
`,
      'later.ts': `import { existsSync } from 'node:fs'; import { defineFlow } from 'retinue/flow';
export default defineFlow('later', null, async (flow, name: 'dirname' | 'filename' | 'resolve') => {
  if (name === 'resolve') return import.meta.resolve('./prompt.md');
  return flow.step('look', () => existsSync(\`\${import.meta[name]}/prompt.md\`));
});
`.replaceAll('\\', ''),
      'text.ts':
        "import { defineFlow } from 'retinue/flow';\nimport { prompt } from './prompt.ts';\nimport json from './prompt.json' with { type: 'json' };\nexport default defineFlow('text', null, async () => prompt + json);",
      'prompt.json': '" import.meta.url"',
      'prompt.ts': 'export const prompt = `Hello`;',
    });
    const top = await place.run('flow', 'run', './top.ts');
    expect(top).toMatchObject({
      code: 2,
      err: expect.stringContaining(`top.ts:4:64: import.meta.url is not available in a flow, ${advice}`),
    });
    const lines = { dirname: '(later.ts:4)', filename: '(later.ts:4)', resolve: '(later.ts:3:' };
    for (const [name, line] of Object.entries(lines)) {
      const ended = await place.run('flow', 'run', './later.ts', '--input', JSON.stringify(name));
      expect(ended).toMatchObject({ code: 1, err: expect.stringContaining(`import.meta.${name} is not available in a flow, ${advice}`) });
      expect(ended.err).toContain(line);
    }
    expect(await place.run('flow', 'run', './text.ts')).toMatchObject({ code: 0, out: 'Hello import.meta.url\n' });
  }, 60_000);
});
