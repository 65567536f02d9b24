import { attend } from '../attend.ts';
import type { Args } from '../flags.ts';
import type { Demo, Io } from '../io.ts';
import { withApi } from '../session.ts';
import { mannerOf } from './run.ts';

/** A run without a key or network, and then what this machine has for a real one. */
export async function run(args: Args, io: Io): Promise<number> {
  const manner = mannerOf(args);
  const demo = await io.demo(args.words[0] ?? 'survey');
  const flags = { workspace: demo.workspace, model: demo.model, db: demo.db ?? undefined, limits: {}, rules: [] };
  return withApi(io, { flags, drive: true, agents: { chosen: undefined } }, async (api, settings) => {
    io.err(`retinue: ${demo.about}\n`);
    const start = () => api.start({ task: demo.task, agent: 'general', model: demo.model });
    const code = await attend(io, api, { ...manner, start });
    io.err(await closing(demo, settings.db.path));
    return code ?? 0;
  });
}

async function closing(demo: Demo, db: string): Promise<string> {
  const { here, next } = await demo.found();
  const where = demo.db === null ? '' : ` --db ${quoted(demo.db)}`;
  const looks = ['ps --all', 'logs last --tree', 'show last'].map((hint) => `  ${demo.command} ${hint}${where}`);
  const machine =
    here.length === 0 ? ['  no key of a provider in the environment, no Ollama that answers'] : here.map((line) => `  ${line}`);
  const go = next ?? `ANTHROPIC_API_KEY=… ${demo.command} run --model anthropic/claude-sonnet-5 "explain this repository"`;
  return [
    '',
    `The facts of these runs are in ${db}. Look at them:`,
    ...looks,
    '',
    'Found on this machine:',
    ...machine,
    '',
    'With a language model:',
    `  ${go}`,
    '',
  ].join('\n');
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
