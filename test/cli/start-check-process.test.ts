// Servers say at their start, and not with their first request, what every run would be refused for.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace } from './support-process.ts';

const servers: [command: string[]][] = [[['mcp']], [['mcp', '--http']], [['serve']], [['acp']]];

describe.each(servers)('%j', (command) => {
  it.each([
    ['{', [], 'retinue.config.json:1:2: not JSON'],
    ['{"modle":"a/b"}', [], 'retinue.config.json:1:2: unknown key `modle`; did you mean `model`?'],
    ['{"rules":["deny read","permit write"]}', [], 'retinue.config.json:1:23: rule `permit write`: unknown action `permit`'],
    [
      '{"rules":["deny read","deny wriet"]}',
      [],
      '`deny wriet` (workspace retinue.config.json, rules.1): unknown tool `wriet`; did you mean `write`?',
    ],
    ['{}', ['--deny', 'wriet'], '`deny wriet` (command line): unknown tool `wriet`; did you mean `write`?'],
    ['{}', ['--model', 'nobody/x'], 'model, from --model: unknown model "nobody/x": there is no provider "nobody"'],
    ['{}', ['--db', 'script.json/x.db'], 'script.json'],
  ])('refuses %s %j', async (config, flags, message) => {
    using place = createPlace({ runs: [] });
    writeFileSync(join(place.folder, 'retinue.config.json'), config);
    const { code, out, err } = await place.run(...command, ...flags);
    expect([code, out, err]).toEqual([2, '', expect.stringContaining(message)]);
    expect(err).not.toContain('bug in Retinue');
  });
});
