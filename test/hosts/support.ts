// A world whose runs use tool processes: the real program, or a misbehaving one.
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

/** A program to use instead of the real child. */
export function impostor(source: string): string[] {
  return [process.execPath, '--input-type=module', '-e', source];
}

/** Resolves when a command has created the file. */
export async function begun(world: World): Promise<void> {
  await expect.poll(() => existsSync(join(world.workspace, 'begun'))).toBe(true);
}

/** Waits for the oldest process that this process has started for a run. */
export async function runProcess(): Promise<number> {
  const mine = () => processesWith('--child-run').filter((pid) => statOf(pid)[1] === String(process.pid));
  await expect.poll(() => mine().length).toBeGreaterThan(0);
  return mine().sort((a, b) => Number(statOf(a)[19]) - Number(statOf(b)[19]))[0] as number;
}

/** The fields of /proc/PID/stat from the third on: state, parent, … start. */
function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** Living processes with this text among their arguments. */
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
  return expect.poll(() => processesWith(text)).toEqual([]);
}
