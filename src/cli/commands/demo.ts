import { attend } from '../attend.ts';
import type { Args } from '../flags.ts';
import type { Io } from '../io.ts';
import { withApi } from '../session.ts';
import { mannerOf } from './run.ts';

const task = 'Describe how this repository is built';

/** A run of a scripted model over the files of this package: everything but the model is real. */
export async function run(args: Args, io: Io): Promise<number> {
  const manner = mannerOf(args);
  const demo = await io.demo();
  const flags = { workspace: demo.workspace, model: demo.model, db: demo.db ?? undefined, limits: {}, rules: [] };
  return withApi(io, { flags, drive: true, agents: { chosen: undefined } }, async (api, settings) => {
    io.err('retinue: a scripted model stands in for a real one; files, facts and children are real\n');
    const start = () => api.start({ task, agent: 'general', model: demo.model });
    const code = await attend(io, api, { ...manner, start });
    const where = demo.db === null ? '' : ` --db ${quoted(demo.db)}`;
    const hints = ['ps --all', 'logs last --tree', 'show last', 'show last --json'].map((hint) => `  ${demo.command} ${hint}${where}\n`);
    io.err(`\nThe facts of these runs are in ${settings.db.path}. Next, try:\n${hints.join('')}`);
    io.err(`With a model of your own: ${demo.command} run --model PROVIDER/MODEL "explain this repository"\n`);
    return code ?? 0;
  });
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
