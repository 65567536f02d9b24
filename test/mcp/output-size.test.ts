// How much of a report reaches a client: the configured size, not the built-in one, and never a silent cut.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTexts } from './support.ts';
import { startDialectServer } from './support-dialect.ts';

const report = (bytes: number) => ({ long: { text: 'x'.repeat(bytes), chunkSize: 10_000 } });
const config = { limits: { maxOutputBytes: 50_000 } };
const count = (text: string) => (text.match(/x/g) ?? []).length;

describe('a report over MCP with `limits.maxOutputBytes` above the built-in 16,384', () => {
  it('native: whole up to the limit, and cut there with the right numbers', async () => {
    await using whole = await startDialectServer('native', { answers: report(40_000), config });
    const [text = ''] = readTexts(await whole.call('delegate', { tasks: [{ task: 'long' }] }));
    expect([count(text), /Shown:|truncated/.test(text)]).toEqual([40_000, false]);
    await using cut = await startDialectServer('native', { answers: report(90_000), config });
    const [shown = ''] = readTexts(await cut.call('delegate', { tasks: [{ task: 'long' }] }));
    expect(count(shown)).toBe(50_000);
    const [, rest] = /Shown: 50000 of 90000 bytes\. Read the rest with delegate_read (\{.*\})/.exec(shown) ?? [];
    const [page = ''] = readTexts(await cut.call('delegate_read', { ...JSON.parse(rest ?? ''), limit: 16_000 }));
    expect([page.split('\n')[0], count(page)]).toEqual([expect.stringMatching(/characters 50000 to 66000 of 90000\]$/), 16_000]);
  });

  it.each(['dex', 'openfork'])('%s: whole up to the limit, and cut there with the right numbers', async (dialect) => {
    const [tool, args] =
      dialect === 'dex'
        ? ['spawn_subagent', { instructions: 'long' }]
        : ['task', { subagent_type: 'general', prompt: 'long', description: 'd' }];
    await using whole = await startDialectServer(dialect, { answers: report(40_000), config });
    const [text = ''] = readTexts(await whole.call(tool as string, args as object));
    expect([count(text), text.includes('truncated')]).toEqual([40_000, false]);
    await using cut = await startDialectServer(dialect, { answers: report(90_000), config });
    const [shown = ''] = readTexts(await cut.call(tool as string, args as object));
    expect([count(shown), shown.match(/\[truncated: .*\]/g)]).toEqual([50_000, ['[truncated: kept 50000 of 90000 bytes]']]);
  });

  it('a report of an agent with a larger limit of its own is not cut a second time', async () => {
    await using server = await startDialectServer('native', { answers: report(40_000), files: {} });
    const agent = '---\nname: wide\ndescription: d\nlimits: { maxOutputBytes: 45000 }\n---\nlong';
    const folder = join(server.place.folder, '.config/retinue/agents');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'wide.md'), agent);
    await using again = await server.startAgain();
    const [text = ''] = readTexts(await again.call('delegate', { tasks: [{ task: 'long', agent: 'wide' }] }));
    expect(count(text)).toBe(40_000);
  });
});
