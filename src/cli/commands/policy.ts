import type { PolicyQuestion } from '../../config/explain-call.ts';
import type { PolicyVerdict } from '../../config/explanation.ts';
import { RetinueError } from '../../contract/error.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { paint, type Style } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { runSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags, unlimited } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { loadSettings } from '../session/open-api.ts';
import { chooseServer } from '../session/server.ts';

export const policyCommand: Command = {
  name: 'policy',
  group: 'setup',
  usage: 'test CALL [--agent NAME] [flags]',
  summary: 'test whether a tool call would be allowed, and by which rule',
  about:
    'CALL is `tool` or `tool:argument`: a command for bash, a path for the file tools, an address for webfetch. A shell command is checked for each simple command in it. Protected paths, paths outside the workspace, links and the sandbox count as in a run. Nothing is executed. The exit code is 0 if the call is allowed, and 1 if it needs approval or is denied.',
  flags: [
    { name: 'agent', value: 'NAME', help: 'the agent that makes the call (default: general)' },
    { name: 'allow', value: 'RULE', repeatable: true, help: 'as in `retinue run`' },
    { name: 'deny', value: 'RULE', repeatable: true, help: 'as in `retinue run`' },
    jsonFlag,
    ...commonFlags,
    ...serverFlags,
  ],
  positionals: { min: 1, max: unlimited },
  examples: [
    ['retinue policy test "bash:git log" --agent review', 'a shell command of the agent `review`'],
    ['retinue policy test "bash:git log | tee x" --allow "bash:git log*"', 'checks `git log` and `tee x`'],
    ['retinue policy test write:.git/hooks/x', 'a path'],
  ],
  exitCodes: 'command',
  changes: false,
  run,
};

const usage = 'usage: retinue policy test "tool:argument" [--agent NAME]';

async function run(args: Args, io: Io): Promise<number> {
  const [verb, ...words] = args.positionals;
  if (verb !== 'test') throw new RetinueError('usage', `unexpected argument \`${verb}\`; ${usage}`);
  if (words.length === 0) throw new RetinueError('usage', `the call is missing; ${usage}`);
  const verdict = await judgeCall(args, io, { call: words.join(' '), agent: args.value('agent') ?? 'general' });
  if (args.has('json')) printJson(io, verdict);
  else io.out(describeVerdict(verdict, io.colour.out));
  return verdict.action === 'allow' && verdict.offered ? 0 : 1;
}

async function judgeCall(args: Args, io: Io, question: PolicyQuestion): Promise<PolicyVerdict> {
  const flags = runSettings(args);
  const server = chooseServer(io, flags);
  if (server === null) return io.policy(await loadSettings(io, { flags }), question);
  if (flags.rules.length > 0) throw new RetinueError('usage', '--deny cannot be combined with a server: its own rules decide');
  return (await io.connect(server)).policy(question);
}

const styles: Record<PolicyVerdict['action'], Style> = { allow: 'green', ask: 'yellow', deny: 'red' };

function describeVerdict(verdict: PolicyVerdict, colour: boolean): string {
  const { action, call, agent, refused, offered, notes: more, parts } = verdict;
  const why = refused ? sanitizeLine(refused) : describeRule(verdict);
  const lines = [`${paint(colour, styles[action], action)}  ${sanitizeLine(call)}  for ${sanitizeLine(agent)}: ${why}`];
  if (!offered) lines.push(`       this agent does not have the tool ${sanitizeLine(verdict.tool)}, so it cannot make the call`);
  for (const part of parts) {
    if (part.alias && part.about !== part.subject) continue;
    const notes = [...(part.unsafe ? [part.unsafe] : []), ...(part.alias ? ['another name for it: only ask and deny rules apply'] : [])];
    const note = notes.length === 0 ? '' : ` (${sanitizeLine(notes.join('; '))})`;
    lines.push(`  ${paint(colour, styles[part.action], part.action)}  \`${sanitizeLine(part.subject)}\`${note}: ${describeRule(part)}`);
  }
  lines.push(...more.map((note) => `  ${sanitizeLine(note)}`));
  return `${lines.join('\n')}\n`;
}

function describeRule({ rule, owner }: { rule: string | null; owner: string }): string {
  return rule === null ? 'no rule allows it' : `rule \`${sanitizeLine(rule)}\` of ${sanitizeLine(owner)}`;
}
