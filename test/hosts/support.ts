// A world whose runs are processes: the real program, or one that misbehaves.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import type { Ruleset } from '../../src/contract/grant.ts';
import { createProcessExecutor, type ProcessExecutorOptions } from '../../src/hosts/process.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createProcessGuard } from '../../src/system/process-guard.ts';
import { createBash } from '../../src/tools/bash.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

export const program = resolve(import.meta.dirname, '../../bin/retinue.js');
export const realCommand = [process.execPath, program, '--child-run'];

export interface ProcessWorldOptions extends WorldOptions {
  host?: Partial<ProcessExecutorOptions>;
  narrowing?: Ruleset[];
}

export function processWorld({ host = {}, narrowing = [], ...options }: ProcessWorldOptions): Promise<World> {
  const guard = createProcessGuard();
  const bash = createBash({ sandbox: null, marks: guard.marks });
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
    executor: options.executor ?? createProcessExecutor({ command: realCommand, env: process.env, marks: guard.marks, ...host }),
  });
}

/** A program in the place of the child's. */
export function impostor(source: string): string[] {
  return [process.execPath, '--input-type=module', '-e', source];
}

/** Resolves when a command has made the file of that name. */
export async function begun(world: World): Promise<void> {
  await expect.poll(() => existsSync(join(world.workspace, 'begun')), { timeout: 15_000 }).toBe(true);
}

/** The process of a run of this world, once it is there: the oldest one that this process has started for a run. */
export async function runProcess(): Promise<number> {
  const mine = () => processesWith('--child-run').filter((pid) => statOf(pid)[1] === String(process.pid));
  await expect.poll(() => mine().length, { timeout: 15_000 }).toBeGreaterThan(0);
  return mine().sort((a, b) => Number(statOf(a)[19]) - Number(statOf(b)[19]))[0] as number;
}

/** From the third field on: state, parent, … start. */
function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
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
