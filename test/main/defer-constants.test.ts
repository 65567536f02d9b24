import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { expect, test } from 'vitest';
// @ts-expect-error A script without types.
import { deferConstants } from '../../scripts/defer-constants.mjs';
// @ts-expect-error A script without types.
import { lookUpBuiltins } from '../../scripts/look-up-builtins.mjs';

/** Builds modules with the plugins of the package's build and imports the first one. */
async function load(files: Record<string, string>): Promise<Record<string, unknown>> {
  // There, zod is found.
  const folder = mkdtempSync('node_modules/.defer-');
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const entry = join(folder, Object.keys(files)[0] as string);
    const { output } = await build({
      input: entry,
      write: false,
      platform: 'node',
      external: ['zod'],
      plugins: [deferConstants([entry], folder), lookUpBuiltins],
      output: { format: 'esm', codeSplitting: false },
    });
    const file = join(folder, 'built.mjs');
    writeFileSync(file, output[0].code);
    return (await import(`${process.cwd()}/${file}`)) as Record<string, unknown>;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const made = `export const made: string[] = [];
export const note = <T>(name: string, value: T): T => { made.push(name); return value; };`;

test('a schema is made at its first use, once, and so is what consists of it', async () => {
  const main = await load({
    'main.ts': `import { made } from './made.ts';
      import { Name, Person } from './schemas.ts';
      export const before = [...made];
      export function parse(value: unknown) { return Person.parse(value); }
      export const after = () => [...made];
      export function isSame() { return Person.shape.name === Name; }`,
    'schemas.ts': `import { z } from 'zod';
      import { note } from './made.ts';
      export const Name = z.string(note('Name', 'must be text')).max(20);
      export type Name = z.infer<typeof Name>;
      const fields = { name: Name };
      export const Person = z.strictObject({ ...fields, age: z.int(note('age', 'must be a number')) });`,
    'made.ts': made,
  });
  const { before, after, parse, isSame } = main as {
    before: string[];
    after(): string[];
    parse(value: unknown): object;
    isSame(): boolean;
  };
  expect([before, after()]).toEqual([[], []]);
  expect(parse({ name: 'Ann', age: 3 })).toEqual({ name: 'Ann', age: 3 });
  expect(isSame()).toBe(true);
  expect(parse({ name: 'Bob', age: 4 })).toEqual({ name: 'Bob', age: 4 });
  expect(after()).toEqual(['Name', 'age']);
});

test('names that are declared again, keys, and short properties keep their meaning', async () => {
  const { results } = (await load({
    'main.ts': `import { readFileSync as Text } from 'node:fs';
      import { Name } from './schemas.ts';
      const isSchema = (value: unknown) => typeof value === 'object' && value !== null && '_zod' in value;
      function parameter(Name: string) { return Name; }
      function local() { const Name = 'local'; { const Name = 'block'; if (Name === '') return Name; } return Name; }
      function pattern({ Name: other, Text = 'default' }: { Name: string; Text?: string }) { return [other, Text]; }
      function caught() { try { throw 'caught'; } catch (Name) { return Name; } }
      function loop() { for (const Name of ['loop']) return Name; }
      class Box { Name = 'field'; get() { return this.Name; } static Name() { return isSchema(Name); } }
      export const results = {
        parameter: parameter('given'), local: local(), pattern: pattern({ Name: 'key' }), caught: caught(), loop: loop(), field: new Box().get(),
        inClass: Box.Name(), short: isSchema({ Name }.Name), key: { Name: 'key' }.Name, template: \`\${isSchema(Name)}\`, builtin: typeof Text,
      };`,
    'schemas.ts': `import { z } from 'zod'; export const Name = z.string();`,
  })) as { results: object };
  expect(results).toEqual({
    ...{ parameter: 'given', local: 'local', pattern: ['key', 'default'], caught: 'caught', loop: 'loop', field: 'field' },
    ...{ inClass: true, short: true, key: 'key', template: 'true', builtin: 'function' },
  });
});

test('whole modules, entry points and constructors of Node have values', async () => {
  const main = await load({
    'main.ts': `import { EventEmitter } from 'node:events';
      import { Resolver } from 'node:dns';
      import * as all from './schemas.ts';
      export { Name } from './schemas.ts';
      export class Emitter extends EventEmitter {}
      export const resolver = () => new Resolver({ timeout: 1 });
      export const names = () => Object.entries(all).map(([name, value]) => name + ' ' + ('parse' in value));
      export const later = async () => (await import('./schemas.ts')).Name.parse('x');`,
    'schemas.ts': `import { z } from 'zod'; export const Name = z.string(); export const Age = z.int();`,
  });
  const { Name, Emitter, resolver, names, later } = main as {
    Name: { parse(value: unknown): unknown };
    Emitter: new () => { on: unknown };
    resolver(): { cancel(): void };
    names(): string[];
    later(): Promise<string>;
  };
  expect(Name.parse('x')).toBe('x');
  expect(new Emitter().on).toBeTypeOf('function');
  expect(() => resolver().cancel()).not.toThrow();
  expect(names().sort()).toEqual(['Age true', 'Name true']);
  expect(await later()).toBe('x');
});

test('a constant that depends on a variable is made at once', async () => {
  const { schema } = (await load({
    'main.ts': `export { schema } from './schemas.ts';`,
    'schemas.ts': `import { z } from 'zod'; let max = 3; export const schema = z.string().max(max); max = 5; export const get = () => max;`,
  })) as { schema: { safeParse(value: unknown): { success: boolean } } };
  expect(schema.safeParse('four').success).toBe(false);
});
