// A secret in a text that comes in pieces is removed, wherever the pieces begin and end.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedaction } from '../../src/config/redact.ts';
import { createWorld } from '../support/world.ts';

const secrets = {
  API_KEY: 'sk-ant-SECRETvalue1234567890',
  DB_PASSWORD: 'two words "and" a\\quote',
  OTHER_TOKEN: 'sk-ant-other-0987654321',
};
const { redact, redactStream } = createRedaction(secrets);

function stream(pieces: string[]): string {
  const next = redactStream();
  return pieces.map((piece) => next(piece)).join('');
}

function cutAt(text: string, cuts: number[]): string[] {
  const points = [...new Set([0, ...cuts.map((cut) => cut % (text.length + 1)), text.length])].sort((a, b) => a - b);
  return points.slice(1).map((point, index) => text.slice(points[index], point));
}

const escapeAll = (text: string) => [...text].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
const part = fc.oneof(
  fc.constantFrom(...Object.values(secrets)),
  fc.constantFrom(...Object.values(secrets).map((value) => JSON.stringify(value))),
  fc.constantFrom(...Object.values(secrets).map(escapeAll)),
  fc.constantFrom(...Object.values(secrets).map((value) => value.slice(0, 9))),
  fc.constantFrom('\\', '\\u00', 'sk-', 's', 'two', ' ', '\n', 'ünï 🧵'),
  fc.string({ maxLength: 12 }),
);

describe('a text in pieces', () => {
  it('shows the same as the redacted text, up to where it got', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 12 }), (parts, cuts) => {
        const text = parts.join('|');
        const shown = stream(cutAt(text, cuts));
        expect(redact(text, false).startsWith(shown)).toBe(true);
        for (const value of Object.values(secrets)) expect(shown).not.toContain(value);
        // What cannot begin a secret holds nothing back.
        expect(stream([...cutAt(text, cuts), '||'])).toBe(redact(`${text}||`, false));
      }),
      { numRuns: 3_000 },
    );
  });

  it('is passed on at once if it cannot begin a secret', () => {
    expect(stream(['Hello', ' world'])).toBe('Hello world');
    expect(stream(['the key is s', 'k', '-ant-SEC'])).toBe('the key is ');
    expect(stream(['the key is sk-', 'ant-SECRETvalue1234567890.'])).toBe('the key is [secret API_KEY].');
  });
});

describe('live pieces of an answer', () => {
  it('have no secret that the recorded answer does not have (invariant 11)', async () => {
    const text = `Your key is ${secrets.API_KEY}, do not share it.`;
    await using world = await createWorld({ script: { runs: [{ steps: [{ text, chunkSize: 3 }] }] }, env: secrets });
    const pieces: string[] = [];
    world.runtime.listen((event) => void (event.type === 'delta' && pieces.push(event.text)));
    const run = await world.runtime.start({ task: 'x' });
    const { summary } = await run.outcome;
    expect(summary).toBe('Your key is [secret API_KEY], do not share it.');
    expect(pieces.length).toBeGreaterThan(5);
    expect(pieces.join('')).toBe(summary);
  });
});
