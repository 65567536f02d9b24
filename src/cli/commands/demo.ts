import { attend } from '../attend.ts';
import type { Args } from '../flags.ts';
import { quoted } from '../format.ts';
import type { Demo, Io } from '../io.ts';
import { printJson } from '../json.ts';
import { withApi } from '../session.ts';
import { runRights } from './demo-rights.ts';
import { mannerOf } from './run.ts';

/** A run without a key or network, and then what this machine has for a real one. */
export async function run(args: Args, io: Io): Promise<number> {
  const manner = mannerOf(args);
  const name = args.words[0] ?? 'survey';
  if (name === 'crash') return crash(args, io);
  if (name === 'hostile' || name === 'runaway') return runRights(name, io, args.has('json'));
  const demo = await io.demo(name);
  const flags = { workspace: demo.workspace, model: demo.model, db: demo.db ?? undefined, limits: {}, rules: [] };
  return withApi(io, { flags, drive: true, startsRuns: true, agents: { chosen: undefined } }, async (api, settings) => {
    io.err(`retinue: ${demo.about}\n`);
    const start = () => api.start({ task: demo.task, agent: 'general', model: demo.model });
    const code = await attend(io, api, { ...manner, start });
    io.err(await closing(demo, settings.db.path));
    return code ?? 0;
  });
}

/** Exit code 0 when nothing was repeated, nothing is missing and every run came to its end. */
async function crash(args: Args, io: Io): Promise<number> {
  io.err('retinue: a tree of six on a scripted model is killed with -9 in the middle; processes, database, tools and the kill are real\n');
  const found = await io.crashDemo((text) => io.err(`retinue: ${text}`));
  const { model, tools, faults, facts, runs, completed, openAtKill } = found;
  if (args.has('json')) printJson(io, found);
  else
    io.out(
      [
        `model calls  ${model.answered} answered, ${model.repeated} repeated (asked ${model.asked} times: ${model.openAtKill} had no answer yet when the process was killed)`,
        `tool calls   ${tools.finished} finished, ${tools.repeated} repeated (${tools.unknown} cut off in the middle and told to the model as unknown)`,
        `journal      ${facts} facts, checked and replayed, ${faults.length} faults`,
        ...faults.map((fault) => `  ${fault}`),
        '',
      ].join('\n'),
    );
  io.err(`\nThe facts of these runs: retinue logs last --tree --db ${quoted(found.db)}\n`);
  const whole = openAtKill > 0 && completed === runs;
  return whole && model.repeated + tools.repeated + faults.length === 0 ? 0 : 1;
}

async function closing(demo: Demo, db: string): Promise<string> {
  const { here, next } = await demo.inspectMachine();
  const where = demo.db === null ? '' : ` --db ${quoted(demo.db)}`;
  const looks = ['ps --all', 'logs last --tree', 'show last'].map((hint) => `  ${demo.program} ${hint}${where}`);
  const machine =
    here.length === 0 ? ['  no key of a provider in the environment, no Ollama that answers'] : here.map((line) => `  ${line}`);
  const go = next ?? `ANTHROPIC_API_KEY=… ${demo.program} run --model anthropic/claude-sonnet-5 "explain this repository"`;
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
