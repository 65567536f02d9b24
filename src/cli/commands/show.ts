import type { Api, RunDetail } from '../../api/api.ts';
import type { Artifact } from '../../contract/artifact.ts';
import { isCheckArtifact, readCheckResults } from '../../contract/check-artifact.ts';
import type { Grant, Ruleset } from '../../contract/grant.ts';
import type { LiveStep, ModelChange } from '../../contract/view.ts';
import { formatRule } from '../../rules/policy.ts';
import { formatEffort } from '../../text/effort.ts';
import { serverToPublicJson } from '../../text/hide-credentials.ts';
import { formatPath, sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { trustWord } from '../../text/verified.ts';
import { cachedShare } from '../../views/costs.ts';
import { describeError, describeLimits, describeShortage } from '../../views/describe-fact.ts';
import {
  describeDeadline,
  formatCost,
  formatCount,
  formatDuration,
  formatInstant,
  formatStatus,
  shortId,
  statusGlyph,
  totalTokens,
} from '../../views/format.ts';
import { runDetailToJson } from '../../views/json.ts';
import { applyEvent, createLiveState } from '../../views/live-state.ts';
import { formatTable, paint, statusStyle } from '../../views/style.ts';
import { cutToWidth, padToWidth } from '../../views/width.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { formatRuns } from '../output/run-table.ts';
import { withApi } from '../session/open-api.ts';

export const showCommand: Command = {
  name: 'show',
  group: 'watch',
  usage: 'ID [flags]',
  summary: 'show the task, permissions, result and children of one run',
  about: 'ID is an id, its unique beginning, or `last` for the newest run.',
  flags: [jsonFlag, ...commonFlags, ...serverFlags],
  positionals: { min: 1, max: 1 },
  examples: [['retinue show last', 'the newest run']],
  exitCodes: 'command',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [id] = args.positionals as [string];
  const { detail, isRemote, steps } = await withApi(io, { flags: commonSettings(args), drive: false }, async (api) => {
    const found = await api.show(await api.find(id));
    return { detail: found, isRemote: api.server !== undefined, steps: await loadSteps(api, found) };
  });
  // A server has looked itself: processes of this machine are not those of the run.
  const toolPid = !isRemote && detail.pid !== null && detail.host === 'process' ? await io.findToolProcess(detail.runId) : null;
  if (args.has('json')) printJson(io, { ...runDetailToJson(detail, toolPid), ...(steps.length > 0 && { steps }) });
  else io.out(describeRun(detail, { toolPid, steps }, io));
  return 0;
}

function describeModel({ model, models = [], brief }: RunDetail): string {
  const name = model ?? brief?.model ?? '';
  return models.length > 1 ? `${name} (then ${models.slice(1).join(', ')})` : name;
}

function describeChange({ turn, model, instead }: ModelChange): string {
  const why = instead ? describeShortage(instead) : 'the provider kept failing';
  return `${model} from turn ${turn} on: ${why}`;
}

/** Of a flow: what its program has done so far. */
async function loadSteps(api: Api, { kind, runId, erasedAt }: RunDetail): Promise<LiveStep[]> {
  if (kind !== 'flow' || erasedAt !== undefined) return [];
  const state = createLiveState();
  for (const fact of await api.logs(runId)) if ('data' in fact) applyEvent(state, fact);
  return state.runs.get(runId)?.steps ?? [];
}

function describeSteps(steps: LiveStep[], io: Io): string {
  const rows = steps.map(({ step, kind, name, at, status, problem, childId, startedAt, endedAt }) => [
    `${statusGlyph[status]} ${step}`,
    kind,
    sanitizeLine(name),
    sanitizeLine(problem || status),
    childId === null ? '' : shortId(childId),
    formatDuration((endedAt ?? io.now()) - startedAt),
    sanitizeLine(at),
  ]);
  const columns = [
    ...[{ title: 'STEP' }, { title: 'KIND' }, { title: 'NAME', flexible: true }, { title: 'STATE' }, { title: 'RUN' }],
    ...[{ title: 'TIME', side: 'right' as const }, { title: 'LINE' }],
  ];
  const style = (row: number, column: number) => (column === 0 ? statusStyle[steps[row]?.status ?? 'running'] : null);
  return formatTable(columns, rows, { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style }).join('\n');
}

const verifiedAnswers = { verified: 'yes', 'not verified': 'no', claimed: 'claimed: no check has confirmed it' };

/** Whether the success was checked, then each check of the last round. */
function verifiedRows({ outcome }: RunDetail): [string, string][] {
  const word = outcome && trustWord(outcome);
  if (!word) return [];
  const checks = readCheckResults(outcome).map(({ name, status, round }): [string, string] => ['', `${status} in round ${round}: ${name}`]);
  return [['verified', verifiedAnswers[word]], ...checks];
}

function describeCompactions({ compactions = [] }: RunDetail): string {
  const last = compactions.at(-1);
  if (!last) return '';
  const { before, after } = last;
  const sizes = before === null || after === null ? '' : ` (the last one: ${formatCount(before)} to ${formatCount(after)} tokens)`;
  return `${compactions.length}${sizes}`;
}

function describeProcess(pid: number | null, toolPid: number | null): string {
  if (pid === null) return '';
  return toolPid === null ? String(pid) : `${toolPid} (its own process), driven by ${pid}`;
}

function describeRun(run: RunDetail, { toolPid, steps }: { toolPid: number | null; steps: LiveStep[] }, io: Io): string {
  const colour = io.colour.out;
  const rows: [string, string][] = [
    ['run', run.runId],
    ['status', [formatStatus(run.status), describeEnd(run, io.now())].filter((part) => part !== '').join(' · ')],
    ['agent', run.agent ?? run.kind],
    ...verifiedRows(run),
    ['runs', run.external ? describeExternal(run.external) : ''],
    ['model', describeModel(run)],
    ...(run.modelChanges ?? []).map((change): [string, string] => ['', describeChange(change)]),
    ['effort', run.effort === undefined ? '' : formatEffort(run.effort)],
    ['label', run.label ?? ''],
    ['parent', run.parentId ?? ''],
    ['depth', String(run.depth)],
    ['turns', run.kind === 'agent' ? `${run.turns}${run.children.length === 0 ? '' : ' of its own'}` : ''],
    [
      'tokens',
      `${run.children.length === 0 ? '' : 'with its children: '}${formatCount(totalTokens(run.tokens))} (${formatCount(run.tokens.input)} in, ${formatCount(run.tokens.output)} out, ${formatCount(run.tokens.cached)} cached: ${Math.round(cachedShare(run.tokens) * 100)} %)`,
    ],
    ['cost', run.costUsd === null ? 'unknown' : formatCost(run.costUsd)],
    ['compactions', describeCompactions(run)],
    ['pid', describeProcess(run.pid, toolPid)],
    ['worker', run.worker ?? ''],
    ['started', run.startedAt ?? 'not yet'],
    ['ended', run.endedAt ?? ''],
    ['duration', run.outcome ? formatDuration(run.outcome.durationMs) : ''],
    ['taint', run.taint.length === 0 ? '' : `${run.taint.join(', ')} (it has read untrusted content)`],
    ['erased', run.erasedAt === undefined ? '' : `${run.erasedAt} (only hashes are left of its content)`],
    ...grantRows(run),
  ];
  const lines = rows
    .filter(([, value]) => value !== '')
    .map(([key, value]) => {
      const shown = cutToWidth(sanitizeLine(value), io.outTTY ? Math.max(20, io.columns() - 12) : 2000);
      return `${paint(colour, 'dim', padToWidth(key, 11))} ${paint(colour, key === 'status' ? statusStyle[run.status] : null, shown)}`;
    });
  const section = (title: string, body: string) => (body.trim() === '' ? [] : ['', paint(colour, 'bold', title), body.trimEnd()]);
  const artifacts = (run.outcome?.artifacts ?? [])
    .filter((artifact) => !isCheckArtifact(artifact))
    .flatMap((artifact) => sanitizeLine(describeArtifact(artifact)) || []);
  return `${[
    ...lines,
    ...(run.endedAt === null && run.grant ? section('Rules', describeRules(run.grant, run.addedRules)) : []),
    ...(run.endedAt === null ? section('Servers', describeServers(run.servers)) : []),
    ...section('Notices', run.notices.map(sanitizeLine).join('\n')),
    ...section('Task', sanitizeText(run.brief?.task ?? '')),
    ...section('Files', (run.brief?.files ?? []).map(formatPath).join('\n')),
    ...section('Summary', sanitizeText(run.outcome?.summary ?? '')),
    ...section('Artifacts', artifacts.join('\n')),
    ...section('Steps', steps.length === 0 ? '' : describeSteps(steps, io)),
    ...section('Children', run.children.length === 0 ? '' : formatRuns(run.children, io)),
  ].join('\n')}\n`;
}

/** Complete, because people decide by it before they run `retinue resume --adopt`. */
function describeRules({ rulesets }: Grant, addedRules: string[]): string {
  const added = addedRules.length === 0 ? [] : ['messages (narrowing):', ...addedRules.map((rule) => `  ${sanitizeLine(rule)}`)];
  return rulesets
    .flatMap((set) => [
      sanitizeLine(`${describeOwner(set)} (${set.kind}):`),
      ...set.rules.map((rule) => `  ${sanitizeLine(`${formatRule(rule)}${rule.from === undefined ? '' : ` (${rule.from})`}`)}`),
    ])
    .concat(added)
    .join('\n');
}

/** An agent can have one ruleset for itself and one for its children. */
function describeOwner({ owner, scope }: Ruleset): string {
  return scope === 'children' ? `${owner}, for its children` : owner;
}

/** The error of an ended run; for one that is not running, when its time limit ends. */
function describeExternal({ program, version, gated }: NonNullable<RunDetail['external']>): string {
  return [`${program}${version === null ? '' : ` ${version}`}`, gated ? 'through the model gate' : 'with its own login'].join(', ');
}

function describeEnd({ outcome, status, deadline, pause }: RunDetail, now: number): string {
  if (outcome) return describeError(outcome);
  const limit = deadline !== null && (status === 'paused' || status === 'interrupted') ? [describeDeadline(deadline, now)] : [];
  return [...(pause ? describePause(pause, now) : []), ...limit].join(' · ');
}

function describePause({ until, reasons }: NonNullable<RunDetail['pause']>, now: number): string[] {
  return [...(until === null ? [] : [`until ${formatInstant(until, now)}`]), ...reasons];
}

/** Empty for a diff, whose file is listed too. */
function describeArtifact({ kind, title, value }: Artifact): string {
  if (kind === 'diff') return '';
  if (kind === 'path') return `${title ?? 'changed'} ${formatPath(value)}`;
  return `${kind} ${title ?? value.slice(0, 200)}`;
}

function describeServers(servers: RunDetail['servers']): string {
  return Object.entries(servers)
    .map(([name, server]) => sanitizeLine(`${name}: ${JSON.stringify(serverToPublicJson(server))}`))
    .join('\n');
}

function grantRows({ grant, addedRules }: RunDetail): [string, string][] {
  if (grant === null) return [];
  const { workspace, limits, tools, rulesets, budgets = [] } = grant;
  const counts = rulesets.map((set) => `${describeOwner(set)} (${set.rules.length})`);
  return [
    ['workspace', workspace],
    ['limits', describeLimits(limits)],
    ['budgets', budgets.join(', ')],
    ['tools', tools.join(', ') || 'none'],
    ['rules', [...counts, ...(addedRules.length === 0 ? [] : [`messages (${addedRules.join(', ')})`])].join(', ')],
  ];
}
