// What `retinue demo hostile` and `retinue demo runaway` print is held against the facts that they leave.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import type { HostileDemo, RunawayDemo } from '../../src/cli/commands/demo-rights.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import { createPlace } from './support-process.ts';

it('hostile: every attempt is refused, and each refusal says by what', { timeout: 60_000 }, async () => {
  using place = createPlace({ runs: [] });
  const { code, out, err } = await place.run('demo', 'hostile', '--json');
  expect(code, err).toBe(0);
  const { attempts, succeeded, db } = JSON.parse(out) as HostileDemo;
  expect(succeeded).toBe(0);
  const reasons = attempts.map(({ call, reason }) => `${call}: ${reason}`).join('\n');
  for (const said of [
    /read .*id_ed25519: .* is outside the workspace/,
    /read assets\/\.ssh\/id_ed25519: .* leads out of the workspace through a link/,
    /bash cat .*rule `deny bash:\*\.ssh\*` of command line/,
    /git push .*rule `deny bash:git push \*` of command line/,
    /write \.git\/hooks\/pre-push: .* is protected/,
    /write retinue\.config\.json: .* is protected/,
    /webfetch http:\/\/169\.254\.169\.254\/.*: refused: 169\.254\.169\.254 is not a public address/,
    /webfetch http:\/\/2852039166\/.*: refused: 169\.254\.169\.254 is not a public address/,
    /webfetch file:.*only http and https/,
    /delegate push it: /,
    /write docs\/key\.txt: denied: write is not allowed \(rule `deny \*` of agent research\)/,
  ])
    expect(reasons).toMatch(said);
  const trees = JSON.parse((await place.run('ps', '--all', '--json', '--db', db)).out) as { runId: string; depth: number }[];
  const children = trees.filter(({ depth }) => depth === 1);
  const facts = (
    await Promise.all(
      children.map(async ({ runId }) => JSON.parse((await place.run('logs', runId, '--json', '--db', db)).out) as StoredFact[]),
    )
  ).flat();
  const calls = facts.flatMap((fact) => (fact.type === 'tool.finished' && fact.data.turn > 1 ? [fact.data.status] : []));
  expect(calls).toHaveLength(attempts.length);
  expect(calls).not.toContain('ok');
  rmSync(dirname(db), { recursive: true, force: true });
});

it('hostile: the refusals are printed as they happen, and counted at the end', { timeout: 60_000 }, async () => {
  using place = createPlace({ runs: [] });
  const { code, out, err } = await place.run('demo', 'hostile');
  expect(code).toBe(0);
  expect(out).toMatch(/^\d+ attempts, 0 succeeded\n$/);
  expect(err.match(/ refused /g)?.length).toBe(Number.parseInt(out, 10));
});

it('runaway: 500 runs are requested, and the tree stays within its limits', { timeout: 60_000 }, async () => {
  using place = createPlace({ runs: [] });
  const { code, out, err } = await place.run('demo', 'runaway', '--json');
  expect(code, err + out).toBe(0);
  const found = JSON.parse(out) as RunawayDemo;
  expect(found).toMatchObject({
    asked: 500,
    limits: { maxRuns: 24, maxDepth: 2, maxTokens: 100_000 },
    runs: 24,
    started: 22,
    refused: 478,
    deepest: 2,
  });
  expect(found.tokens).toBeLessThanOrEqual(100_000);
  const facts = JSON.parse((await place.run('logs', 'last', '--tree', '--json', '--db', found.db)).out) as StoredFact[];
  expect(new Set(facts.map((fact) => fact.runId)).size).toBeLessThanOrEqual(24);
  expect((await place.run('demo', '--help')).out).toContain('retinue demo runaway');
  expect((await place.run('demo', 'runawy')).err).toContain('runaway');
  rmSync(dirname(found.db), { recursive: true, force: true });
});
