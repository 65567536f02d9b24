import type { RunDetail } from '../../api/api.ts';
import { describeServer } from '../../config/displayed-server.ts';
import type { Grant } from '../../contract/grant.ts';
import { formatRule } from '../../rules/policy.ts';
import { clean, cleanLine } from '../clean.ts';
import { ended, limitsText } from '../describe.ts';
import type { Args } from '../flags.ts';
import { cost, count, paint, statusStyle, statusWords, totalTokens } from '../format.ts';
import type { Io } from '../io.ts';
import { detailJson, printJson } from '../json.ts';
import { groundFlags, withApi } from '../session.ts';
import { runTable } from '../tables.ts';
import { cut, pad } from '../width.ts';

export async function run(args: Args, io: Io): Promise<number> {
  const [word] = args.words as [string];
  const detail = await withApi(io, { flags: groundFlags(args), drive: false }, async (api) => api.show(await api.find(word)));
  if (args.has('json')) printJson(io, detailJson(detail));
  else io.out(text(detail, io));
  return 0;
}

function text(run: RunDetail, io: Io): string {
  const colour = io.colour.out;
  const rows: [string, string][] = [
    ['run', run.runId],
    ['status', run.outcome ? ended(run.outcome) : statusWords(run.status)],
    ['agent', run.agent ?? run.kind],
    ['label', run.label ?? ''],
    ['parent', run.parentId ?? ''],
    ['depth', String(run.depth)],
    ['turns', String(run.turns)],
    ['tokens', `${count(totalTokens(run.tokens))} (${run.tokens.input} in, ${run.tokens.output} out, ${run.tokens.cached} cached)`],
    ['cost', run.costUsd === null ? 'not known' : cost(run.costUsd)],
    ['started', run.startedAt ?? 'not yet'],
    ['ended', run.endedAt ?? ''],
    ['taint', run.taint.length === 0 ? '' : `${run.taint.join(', ')}: it has read what is not to be trusted`],
    ['erased', run.erasedAt === undefined ? '' : `${run.erasedAt}: of what it said only the hashes are kept`],
    ...(run.grant === null ? [] : grantRows(run.grant)),
  ];
  const lines = rows
    .filter(([, value]) => value !== '')
    .map(([key, value]) => {
      const shown = cut(cleanLine(value), io.outTTY ? Math.max(20, io.columns() - 12) : 2000);
      return `${paint(colour, 'dim', pad(key, 11))} ${paint(colour, key === 'status' ? statusStyle[run.status] : null, shown)}`;
    });
  const part = (title: string, body: string) => (body.trim() === '' ? [] : ['', paint(colour, 'bold', title), body.trimEnd()]);
  return `${[
    ...lines,
    ...(run.endedAt === null && run.grant ? part('Rules', rulesText(run.grant)) : []),
    ...(run.endedAt === null ? part('Servers', serversText(run.servers)) : []),
    ...part('Task', clean(run.brief?.task ?? '')),
    ...part('Summary', clean(run.outcome?.summary ?? '')),
    ...part('Artifacts', (run.outcome?.artifacts ?? []).map((a) => cleanLine(`${a.kind} ${a.title ?? a.value.slice(0, 200)}`)).join('\n')),
    ...part('Children', run.children.length === 0 ? '' : runTable(run.children, io)),
  ].join('\n')}\n`;
}

/** What a run that may go on would go on with, in full: whoever looks before `retinue resume --adopt` decides by it. */
function rulesText({ rulesets }: Grant): string {
  return rulesets
    .flatMap(({ kind, owner, rules }) => [
      cleanLine(`${owner} (${kind}):`),
      ...rules.map((rule) => cleanLine(`  ${formatRule(rule)}${rule.from === undefined ? '' : ` (${rule.from})`}`)),
    ])
    .join('\n');
}

function serversText(servers: RunDetail['servers']): string {
  return Object.entries(servers)
    .map(([name, server]) => cleanLine(`${name}: ${JSON.stringify(describeServer(server))}`))
    .join('\n');
}

function grantRows({ workspace, limits, tools, rulesets }: Grant): [string, string][] {
  return [
    ['workspace', workspace],
    ['limits', limitsText(limits)],
    ['tools', tools.join(', ') || 'none'],
    ['rules', rulesets.map((set) => `${set.owner} (${set.rules.length})`).join(', ')],
  ];
}
