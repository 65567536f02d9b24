import type { RunDetail } from '../../api/api.ts';
import { serverToPublicJson } from '../../config/hide-credentials.ts';
import type { Grant } from '../../contract/grant.ts';
import { formatRule } from '../../rules/policy.ts';
import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag } from '../command.ts';
import type { Io } from '../io.ts';
import { describeError, describeLimits } from '../output/describe-fact.ts';
import { formatCost, formatCount, formatDuration, formatStatus, paint, statusStyle, totalTokens } from '../output/format.ts';
import { printJson, runDetailToJson } from '../output/json.ts';
import { formatRuns } from '../output/run-table.ts';
import { cutToWidth, padToWidth } from '../output/width.ts';
import { withApi } from '../session/open-api.ts';

export const showCommand: Command = {
  name: 'show',
  group: 'watch',
  usage: 'ID [flags]',
  summary: 'show the task, permissions, result and children of one run',
  about: 'ID is an id, its unique beginning, or `last` for the newest run.',
  flags: [jsonFlag, ...commonFlags],
  positionals: { min: 1, max: 1 },
  examples: [['retinue show last', 'the newest run']],
  exitCodes: 'command',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [id] = args.positionals as [string];
  const detail = await withApi(io, { flags: commonSettings(args), drive: false }, async (api) => api.show(await api.find(id)));
  const toolPid = detail.pid !== null && detail.host === 'process' ? await io.findToolProcess(detail.runId) : null;
  if (args.has('json')) printJson(io, runDetailToJson(detail, toolPid));
  else io.out(describeRun(detail, toolPid, io));
  return 0;
}

function describeProcess(pid: number | null, toolPid: number | null): string {
  if (pid === null) return '';
  return toolPid === null ? String(pid) : `${toolPid} (its own process), driven by ${pid}`;
}

function describeRun(run: RunDetail, toolPid: number | null, io: Io): string {
  const colour = io.colour.out;
  const rows: [string, string][] = [
    ['run', run.runId],
    ['status', [formatStatus(run.status), run.outcome ? describeError(run.outcome) : ''].filter((part) => part !== '').join(' · ')],
    ['agent', run.agent ?? run.kind],
    ['label', run.label ?? ''],
    ['parent', run.parentId ?? ''],
    ['depth', String(run.depth)],
    ['turns', `${run.turns}${run.children.length === 0 ? '' : ' of its own'}`],
    [
      'tokens',
      `${run.children.length === 0 ? '' : 'with its children: '}${formatCount(totalTokens(run.tokens))} (${run.tokens.input} in, ${run.tokens.output} out, ${run.tokens.cached} cached)`,
    ],
    ['cost', run.costUsd === null ? 'unknown' : formatCost(run.costUsd)],
    ['pid', describeProcess(run.pid, toolPid)],
    ['started', run.startedAt ?? 'not yet'],
    ['ended', run.endedAt ?? ''],
    ['duration', run.outcome ? formatDuration(run.outcome.durationMs) : ''],
    ['taint', run.taint.length === 0 ? '' : `${run.taint.join(', ')} (it has read untrusted content)`],
    ['erased', run.erasedAt === undefined ? '' : `${run.erasedAt} (only hashes are left of its content)`],
    ...(run.grant === null ? [] : grantRows(run.grant)),
  ];
  const lines = rows
    .filter(([, value]) => value !== '')
    .map(([key, value]) => {
      const shown = cutToWidth(sanitizeLine(value), io.outTTY ? Math.max(20, io.columns() - 12) : 2000);
      return `${paint(colour, 'dim', padToWidth(key, 11))} ${paint(colour, key === 'status' ? statusStyle[run.status] : null, shown)}`;
    });
  const section = (title: string, body: string) => (body.trim() === '' ? [] : ['', paint(colour, 'bold', title), body.trimEnd()]);
  const artifacts = (run.outcome?.artifacts ?? []).map(({ kind, title, value }) => sanitizeLine(`${kind} ${title ?? value.slice(0, 200)}`));
  return `${[
    ...lines,
    ...(run.endedAt === null && run.grant ? section('Rules', describeRules(run.grant)) : []),
    ...(run.endedAt === null ? section('Servers', describeServers(run.servers)) : []),
    ...section('Task', sanitizeText(run.brief?.task ?? '')),
    ...section('Summary', sanitizeText(run.outcome?.summary ?? '')),
    ...section('Artifacts', artifacts.join('\n')),
    ...section('Children', run.children.length === 0 ? '' : formatRuns(run.children, io)),
  ].join('\n')}\n`;
}

/** Complete, because people decide by it before they run `retinue resume --adopt`. */
function describeRules({ rulesets }: Grant): string {
  return rulesets
    .flatMap(({ kind, owner, rules }) => [
      sanitizeLine(`${owner} (${kind}):`),
      ...rules.map((rule) => `  ${sanitizeLine(`${formatRule(rule)}${rule.from === undefined ? '' : ` (${rule.from})`}`)}`),
    ])
    .join('\n');
}

function describeServers(servers: RunDetail['servers']): string {
  return Object.entries(servers)
    .map(([name, server]) => sanitizeLine(`${name}: ${JSON.stringify(serverToPublicJson(server))}`))
    .join('\n');
}

function grantRows({ workspace, limits, tools, rulesets }: Grant): [string, string][] {
  return [
    ['workspace', workspace],
    ['limits', describeLimits(limits)],
    ['tools', tools.join(', ') || 'none'],
    ['rules', rulesets.map((set) => `${set.owner} (${set.rules.length})`).join(', ')],
  ];
}
