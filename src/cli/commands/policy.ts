import type { PolicyVerdict } from '../../config/explanation.ts';
import { RetinueError } from '../../contract/error.ts';
import { cleanLine } from '../clean.ts';
import type { Args } from '../flags.ts';
import { paint, type Style } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { runFlags, settle } from '../session.ts';

const usage = 'usage: retinue policy test "tool:what" [--agent NAME]';

/** Exit code 0 where the call would be made without a question, else 1. */
export async function run(args: Args, io: Io): Promise<number> {
  const [verb, ...words] = args.words;
  if (verb !== 'test') throw new RetinueError('usage', `\`${verb}\` is none of: test; ${usage}`);
  if (words.length === 0) throw new RetinueError('usage', `which call? ${usage}`);
  const settings = await settle(io, { flags: runFlags(args) });
  const verdict = await io.policy(settings, { call: words.join(' '), agent: args.value('agent') ?? 'general' });
  if (args.has('json')) printJson(io, verdict);
  else io.out(text(verdict, io.colour.out));
  return verdict.action === 'allow' && verdict.offered ? 0 : 1;
}

const styles: Record<PolicyVerdict['action'], Style> = { allow: 'green', ask: 'yellow', deny: 'red' };

function text(verdict: PolicyVerdict, colour: boolean): string {
  const { action, call, agent, refused, offered, parts } = verdict;
  const lines = [
    `${paint(colour, styles[action], action)}  ${cleanLine(call)}  for ${cleanLine(agent)}: ${refused ? cleanLine(refused) : reason(verdict)}`,
  ];
  if (!offered) lines.push(`       ${cleanLine(verdict.tool)} is not offered to this agent, so it could not call it`);
  for (const part of parts) {
    const notes = [...(part.unsafe ? [part.unsafe] : []), ...(part.alias ? ['another name for it: only a deny or an ask counts'] : [])];
    const note = notes.length === 0 ? '' : ` (${cleanLine(notes.join('; '))})`;
    if (part.alias && part.about !== part.subject) continue;
    lines.push(`  ${paint(colour, styles[part.action], part.action)}  \`${cleanLine(part.subject)}\`${note}: ${reason(part)}`);
  }
  return `${lines.join('\n')}\n`;
}

function reason({ rule, owner }: { rule: string | null; owner: string }): string {
  return rule === null ? 'no rule of the owner allows it' : `rule \`${cleanLine(rule)}\` of ${cleanLine(owner)}`;
}
