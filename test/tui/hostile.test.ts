// Whatever models, files and other people write: no line is wider than the terminal, and nothing that a terminal obeys reaches it.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { widestWidth } from '../support/terminal.ts';
import { createScreenWorld, type TestScreen } from './support.ts';

const pieces = fc.oneof(
  fc.constantFrom(
    ...[
      '\x1b[2J',
      '\x1b]0;title\x07',
      '\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\',
      '\x1bP1$q\x1b\\',
      '\x1b',
      '\x9b31m',
      '\x9d0;x\x9c',
    ],
    ...['\r', '\n', '\t', '\b', '\x07', '\x00', '\x7f', '\u2028', '\u202e', '\u200b', '\u2066', '\ufeff', '\u{e0041}'],
    ...[
      '界',
      '한',
      'ｱ',
      '👍',
      '👍🏽',
      '👨‍👩‍👧',
      '❤️',
      '1️⃣',
      '🇩🇪',
      '🇩',
      '☰',
      '𝌀',
      '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
      '⚡',
      'é',
      'e\u0301',
      'a\u0300\u0301\u0302\u0303',
      'ก็',
      'क्षि',
      'ﷺ',
      '\u0600',
    ],
    ...['›', '◆', '│ ', '↪ ', ' ', '  ', 'word', 'x'.repeat(70), '-'],
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const text = fc.array(pieces, { minLength: 1, maxLength: 14 }).map((parts) => parts.join(''));

/** What a frame may consist of besides printable characters. */
const style = /\x1b\[(?:1|2|7|22|27|31|32|33|36|39)m/g;
const forbidden = /[\x00-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

function checkFrame(screen: TestScreen, { columns, rows }: { columns: number; rows: number }): void {
  const lines = screen.lines();
  expect(lines).toHaveLength(rows);
  for (const line of lines) {
    const shown = line.replace(style, '');
    expect(shown).not.toMatch(forbidden);
    expect(widestWidth(shown), JSON.stringify(shown)).toBeLessThanOrEqual(columns);
  }
}

it('in every field of every page, at any width', { timeout: 300_000 }, async () => {
  const input = fc.record({
    texts: fc.array(text, { minLength: 9, maxLength: 9 }),
    sizes: fc.array(fc.record({ columns: fc.integer({ min: 1, max: 220 }), rows: fc.integer({ min: 1, max: 50 }) }), {
      minLength: 3,
      maxLength: 3,
    }),
    colour: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(input, async ({ texts, sizes, colour }) => {
      const [task, label, answer, reasoning, argument, output, key, rootLabel, typed] = texts as [string, ...string[]] & string[];
      await using at = await createScreenWorld({
        rules: ['ask write'],
        outputs: {
          grep: { error: `${output}` },
          edit: { output: `${output}`, diff: `--- a\n+++ a\n@@ -1 +1 @@\n-${output}\n+${argument}\n` },
        },
        script: {
          runs: [
            {
              when: { task: 'child' },
              steps: [
                {
                  text: answer,
                  reasoning,
                  calls: [
                    { tool: 'grep', args: { pattern: argument, path: output } },
                    { tool: 'edit', args: { path: argument, old: 'a', new: `${output}` } },
                    { tool: `no ${key}`, args: { [`k${key}`]: argument } },
                    { tool: 'write', args: { path: `f${argument}`, content: `${output}\n${argument}`, [`k${key}`]: argument } },
                  ],
                },
                { text: answer },
              ],
            },
            {
              steps: [
                {
                  calls: [
                    { tool: 'delegate', args: { tasks: [{ task: `child ${task}`, label: `l${label}`.slice(0, 190), agent: 'any' }] } },
                  ],
                },
                { text: answer },
              ],
            },
          ],
        },
      });
      await at.start(`root ${task}`, { label: `r${rootLabel}`.slice(0, 190) });
      const [size] = sizes as [{ columns: number; rows: number }];
      const screen = await at.open({ size, colour });
      const look = async (...keys: string[]) => {
        await screen.type(...keys);
        for (const each of [...sizes, size]) {
          screen.resize(each);
          checkFrame(screen, each);
        }
      };
      await look();
      await look('end', 'enter');
      for (const tab of ['2', '3', '4', '1']) await look(tab);
      await look('home');
      await look('q', 'a');
      await look('end');
      await look('escape', '?');
      await look('escape', 'C');
      await look('n', 'm');
      screen.paste(typed ?? '');
      await look('left');
      await look('escape', '/');
      screen.paste(typed ?? '');
      await look('enter');
      await look('escape');
    }),
    { numRuns: 40 },
  );
});
