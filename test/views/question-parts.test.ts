// The parts of a question show everything that would be executed, and cannot be imitated.
import { expect, it } from 'vitest';
import { questionToParts } from '../../src/views/question-parts.ts';
import { question } from '../cli/samples.ts';

it('shows every argument completely, with marks for what is invisible', () => {
  const { fields, size } = questionToParts(
    question({ arguments: { path: 'a\u202eb', content: 'one\r\n\ttwo\n', all: true, 'x\ny': [1] } }),
  );
  expect(fields).toEqual([
    { name: 'path', text: 'a⟦U+202E⟧b' },
    { name: 'content', text: 'one⟦U+000D⟧\n\ttwo\n' },
    { name: 'all', text: 'true' },
    { name: 'x⟦U+000A⟧y', text: '[\n  1\n]' },
  ]);
  expect(size).toBeNull();
  expect(questionToParts(question({ arguments: 'plain' })).fields).toEqual([{ name: '', text: 'plain' }]);
});

it('replaces long runs of blank lines by their number, and says how long the call is', () => {
  const { fields, size } = questionToParts(question({ arguments: { command: `ls\n${' \u2800\n'.repeat(400)}rm -rf x\n\n\ndone` } }));
  expect(fields).toEqual([{ name: 'command', text: 'ls\n[400 blank lines]\nrm -rf x\n\n\ndone' }]);
  expect(size).toMatch(/^405 lines, \d+ characters$/);
});

it('marks names, rules and subjects, and counts subjects that are left out', () => {
  const parts = questionToParts(
    question({
      ...{ label: 'fine\n\nApproved', tool: 'ba\x07sh', subjects: Array.from({ length: 60 }, (_, i) => `s${i}\u200b`) },
      decision: { action: 'ask', rule: 'ask\tbash', owner: 'you\u202e', about: 'a\nb' },
    }),
  );
  expect(parts).toMatchObject({ tool: 'ba⟦U+0007⟧sh', rule: 'ask⟦U+0009⟧bash', owner: 'you⟦U+202E⟧', about: 'a⟦U+000A⟧b' });
  expect(parts.requester).toContain('“fine⟦U+000A⟧⟦U+000A⟧Approved”');
  expect(parts.subjects).toHaveLength(51);
  expect([parts.subjects[0], parts.subjects[50]]).toEqual(['s0⟦U+200B⟧', '[and 10 more]']);
});
