import type { Settings, TrustItem } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { cleanLine } from '../clean.ts';
import type { Args } from '../flags.ts';
import { paint, table } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags } from '../session.ts';

export async function run(args: Args, io: Io): Promise<number> {
  const [json, list, revoke] = [args.has('json'), args.has('list'), args.has('revoke')];
  if (list && revoke) throw new RetinueError('usage', '--list and --revoke exclude each other');
  if (list) return listed(io, json);
  const settings = await io.settings(groundFlags(args));
  if (revoke) return revoked(io, settings.workspace, json);
  return trusted(io, settings, { json, yes: args.has('yes') });
}

async function trusted(io: Io, settings: Settings, { json, yes }: { json: boolean; yes: boolean }): Promise<number> {
  const { workspace } = settings;
  const files = [...settings.trust, ...settings.agents().trust];
  const open = files.filter(({ state }) => state !== 'trusted');
  const print = (trusts: boolean) => json && printJson(io, { workspace, trusted: trusts, files: files.map(shape) });
  if (open.length === 0) {
    const why = files.length === 0 ? 'nothing in it asks for trust' : 'it is trusted already';
    io.err(`retinue: ${cleanLine(workspace)}: ${why}\n`);
    print(true);
    return 0;
  }
  (json ? io.err : io.out)(preview(open, { workspace, colour: json ? io.colour.err : io.colour.out }));
  if (!yes && !(await agreed(io))) {
    io.err('retinue: nothing was changed\n');
    print(false);
    return 1;
  }
  await io.trust.add(open);
  for (const file of open) file.state = 'trusted';
  io.err(`retinue: trusted until they change: ${open.map(({ path }) => cleanLine(path)).join(', ')}\n`);
  print(true);
  return 0;
}

async function agreed(io: Io): Promise<boolean> {
  const answer = await io.ask('Trust this? [y/N] ');
  if (answer === null)
    throw new RetinueError('usage', 'nobody can be asked here: run `retinue trust` in a terminal, or add --yes after reading the above');
  return /^y(es)?$/i.test(answer.trim());
}

function preview(items: TrustItem[], { workspace, colour }: { workspace: string; colour: boolean }): string {
  const lines = [`What counts only if ${cleanLine(workspace)} is trusted:`];
  for (const { path, state, gives } of items) {
    lines.push('', paint(colour, 'bold', cleanLine(path) + (state === 'changed' ? ' (has changed since it was trusted)' : '')));
    for (const { what, why } of gives) lines.push(`  ${cleanLine(what)}  ${paint(colour, 'dim', `now: ${cleanLine(why)}`)}`);
  }
  return `${lines.join('\n')}\n\n`;
}

async function listed(io: Io, json: boolean): Promise<number> {
  const files = await io.trust.list();
  if (json) printJson(io, files);
  else if (files.length === 0) io.err('nothing is trusted\n');
  else {
    const rows = files.map(({ path, at, state }) => [cleanLine(path), state, at]);
    const columns = [{ title: 'FILE' }, { title: 'STATE' }, { title: 'SINCE' }];
    io.out(`${table(columns, rows, { columns: 1000, colour: io.colour.out }).join('\n')}\n`);
  }
  return 0;
}

async function revoked(io: Io, workspace: string, json: boolean): Promise<number> {
  const files = await io.trust.revoke(workspace);
  if (json) printJson(io, { workspace, revoked: files });
  else if (files.length === 0) io.err(`retinue: nothing in ${cleanLine(workspace)} was trusted\n`);
  else io.out(files.map((file) => `not trusted any more: ${cleanLine(file)}\n`).join(''));
  return 0;
}

function shape({ path, state, gives }: TrustItem): Omit<TrustItem, 'hash'> {
  return { path, state, gives };
}
