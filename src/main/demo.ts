// What `retinue demo` shows: the survey of the current folder, and other demonstrations by name. Nothing here needs a key or the network.
import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import type { Demo } from '../cli/io.ts';
import { RetinueError } from '../contract/error.ts';
import { findModelOptions } from '../models/advice.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import type { Env } from './config/places.ts';
import { agentPrograms, onPath } from './doctor-looks.ts';

export interface DemoPlace {
  /** The folder of this package. */
  root: string;
  cwd: string;
  env: Env;
}

const demos: Record<string, (place: DemoPlace, shared: Pick<Demo, 'command' | 'found'>) => Demo> = {
  survey: ({ cwd }, shared) => ({
    ...shared,
    about: 'a survey of this folder by rules, without a language model; the delegation, the tools and the facts are real',
    task: 'Survey this folder',
    workspace: cwd,
    model: 'offline/surveyor',
    db: null,
  }),
  'fan-out': ({ root, cwd }, shared) => ({
    ...shared,
    about: 'a scripted model stands in for a real one; files, facts and children are real',
    task: 'Describe how this repository is built',
    workspace: root,
    model: `script/${join(root, 'examples', 'demo', 'fan-out.json')}`,
    db: isInside(cwd, root) ? null : join(mkdtempSync(join(tmpdir(), 'retinue-demo-')), 'retinue.db'),
  }),
};

/** Rejects with `usage` for a name that there is none of. */
export async function demoOf(name: string, place: DemoPlace): Promise<Demo> {
  const make = Object.hasOwn(demos, name) ? demos[name] : undefined;
  if (!make)
    throw new RetinueError('usage', unknownNameMessage('demonstration', name, [...Object.keys(demos), 'crash', 'hostile', 'runaway']));
  const command = isInside(place.cwd, place.root) ? 'npx retinue' : 'retinue';
  return make(place, { command, found: () => found(place.env, command) });
}

/** What this machine has to go on with. Names of variables, never their values. */
async function found(env: Env, command: string): Promise<Awaited<ReturnType<Demo['found']>>> {
  const ways = await findModelOptions({ env, probe: globalThis.fetch });
  const programs = agentPrograms.filter((name) => onPath(name, env) !== null);
  const models = ways.map(({ reason, model }) => `${reason}: ${model}`);
  const agents = programs.length === 0 ? [] : [`agents on PATH: ${programs.join(', ')}`];
  const [way] = ways;
  const next = way ? `${way.command.replace(/^(.*)retinue run/, `$1${command} run`).replace('"…"', '"explain this repository"')}` : null;
  return { here: [...models, ...agents], next };
}

function isInside(cwd: string, root: string): boolean {
  return `${realpathSync(cwd)}${sep}`.startsWith(`${root}${sep}`);
}
