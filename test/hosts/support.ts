// A world whose runs are processes: the real program, or one that misbehaves.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import type { Ruleset } from '../../src/contract/grant.ts';
import { createProcessHost, type ProcessHostOptions } from '../../src/hosts/process.ts';
import { builtInRuleset, parseRule } from '../../src/parts/policy.ts';
import { createGuard } from '../../src/system/guard.ts';
import { createBash } from '../../src/tools/bash.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

export const program = resolve(import.meta.dirname, '../../bin/retinue.js');
export const realCommand = [process.execPath, program, '--child-run'];

export interface ProcessWorldOptions extends WorldOptions {
  host?: Partial<ProcessHostOptions>;
  narrowing?: Ruleset[];
}

export function processWorld({ host = {}, narrowing = [], ...options }: ProcessWorldOptions): Promise<World> {
  const guard = createGuard();
  const bash = createBash({ sandboxed: false, marks: guard.marks });
  const own = [bash, ...(options.tools ?? [])];
  const builtIn = builtInRuleset(
    ['delegate', 'delegate_wait'],
    own.map((tool) => tool.name),
  );
  const rules = [...builtIn.rules, parseRule('allow bash')];
  return createWorld({
    ...options,
    tools: own,
    rulesets: [{ ...builtIn, rules }, ...narrowing],
    options: {
      ...options.options,
      host: createProcessHost({ command: realCommand, env: process.env, marks: guard.marks, ...host }),
    },
  });
}

/** A program in the place of the child's. */
export function impostor(source: string): string[] {
  return [process.execPath, '--input-type=module', '-e', source];
}

/** The text of a file of the workspace, once it is there. */
export async function fileIn(world: World, name: string): Promise<string> {
  const path = join(world.workspace, name);
  await expect.poll(() => existsSync(path) && readFileSync(path, 'utf8').trim() !== '', { timeout: 15_000 }).toBe(true);
  return readFileSync(path, 'utf8').trim();
}

/** The living processes that have this text among their arguments. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    try {
      const state = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0];
      return state !== 'Z' && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text) ? [pid] : [];
    } catch {
      return [];
    }
  });
}

export function noneLeft(text: string): Promise<void> {
  return expect.poll(() => processesWith(text), { timeout: 10_000 }).toEqual([]);
}
