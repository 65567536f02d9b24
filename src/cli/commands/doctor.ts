import type { Api } from '../../api/api.ts';
import type { InterruptedPlan } from '../../api/interrupted-plans.ts';
import type { LeftFolder } from '../../api/leftovers.ts';
import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { formatPlural, shortId } from '../../views/format.ts';
import { paint, type Style } from '../../views/style.ts';
import { padToWidth, textWidth } from '../../views/width.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag } from '../command.ts';
import type { Check, Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withLocalApi } from '../session/open-api.ts';

export const doctorCommand: Command = {
  name: 'doctor',
  group: 'setup',
  usage: '[flags]',
  summary: 'check Node, database, configuration, models and helper programs',
  about:
    'Prints one line per check and what to do about each problem. API keys are shown by name, never by value. For each installed external agent (Claude Code, Codex, opencode) it makes one short model call through the model gate, if a model for it is configured. The exit code is 1 if something necessary is broken.',
  flags: [
    {
      name: 'repair',
      help: 'delete folders that killed processes left behind, if what they changed is stored, and complete an interrupted apply or undo',
    },
    jsonFlag,
    ...commonFlags,
  ],
  positionals: { min: 0, max: 0 },
  examples: [['retinue doctor', 'when something does not work']],
  exitCodes: 'command',
  changes: (args) => args.has('repair'),
  run,
};

const marks: Record<Check['state'], [mark: string, style: Style]> = { ok: ['✓', 'green'], warning: ['!', 'yellow'], broken: ['✗', 'red'] };

async function run(args: Args, io: Io): Promise<number> {
  const checks = [...(await io.doctor(commonSettings(args))), ...(await checkLeftFolders(args, io)), ...(await checkPlans(args, io))];
  if (args.has('json')) printJson(io, checks.map(checkToJson));
  else io.out(describeChecks(checks, io));
  return checks.some(({ state }) => state === 'broken') ? 1 : 0;
}

/** Folders that runs left. Nothing is said if the database cannot be opened: that is another check. */
async function checkLeftFolders(args: Args, io: Io): Promise<Check[]> {
  const remove = args.has('repair');
  const session = { flags: commonSettings(args), drive: false, writes: remove };
  const look = async (api: Api) => ({
    removed: remove ? await api.leftFolders({ remove }) : [],
    found: await api.leftFolders({ remove: false }),
  });
  const seen = await withLocalApi(io, session, look).catch(() => null);
  if (seen === null) return [];
  return [
    ...checkFolders('copies of files', seen, 'files'),
    // Nothing of an agent's home is worth keeping once its run has ended.
    ...checkFolders('homes of agents', seen, 'agent'),
  ];
}

/** Changes that a killed process was making, with its temporary files. */
async function checkPlans(args: Args, io: Io): Promise<Check[]> {
  const flags = commonSettings(args);
  const look = () => withLocalApi(io, { flags, drive: false }, (api) => api.interruptedPlans({ repair: false })).catch(() => []);
  const found = await look();
  if (found.length === 0) return [];
  const name = 'interrupted changes';
  if (args.has('repair')) {
    await withLocalApi(io, { flags, drive: true, existingOnly: true }, (api) => api.interruptedPlans({ repair: true }));
    const rest = (await look()).filter(({ state, temporary }) => state !== 'ended' || temporary.length > 0);
    return [rest.length === 0 ? { name, state: 'ok', found: 'completed', advice: null } : describePlans(name, rest)];
  }
  // What was written by an ended run can only be taken back.
  const open = found.filter(({ state, temporary }) => state !== 'ended' || temporary.length > 0);
  return open.length === 0 ? [] : [describePlans(name, open)];
}

function describePlans(name: string, plans: InterruptedPlan[]): Check {
  const lines = plans.map(
    ({ kind, runs, files, temporary }) =>
      `${kind} of ${runs.map(shortId).join(', ')}: ${formatPlural(files.length, 'file')}${temporary.length === 0 ? '' : `, with ${temporary.join(', ')}`}`,
  );
  const resumable = plans.filter(({ state }) => state === 'resumable').map(({ runId }) => shortId(runId));
  const advice =
    resumable.length > 0 ? `continue them with \`retinue resume ${resumable.join(' ')}\`` : 'complete them with `retinue doctor --repair`';
  return { name, state: 'warning', found: lines.join('\n'), advice };
}

function checkFolders(name: string, seen: { removed: LeftFolder[]; found: LeftFolder[] }, kind: LeftFolder['kind']): Check[] {
  const [removed, found] = [seen.removed, seen.found].map((all) => all.filter((each) => each.kind === kind)) as [
    LeftFolder[],
    LeftFolder[],
  ];
  const unsaved = found.filter(({ state }) => state === 'unsaved');
  const removable = found.filter(({ state }) => state === 'stored' || state === 'draft');
  if (unsaved.length > 0) {
    const paths = unsaved.map(({ path }) => path).join('\n');
    const advice = `take what you need from there, then: retinue discard ${unsaved.map(({ runId }) => shortId(runId ?? '')).join(' ')}`;
    return [{ name, state: 'warning', found: `changes that were not stored are only in\n${paths}`, advice }];
  }
  if (removable.length > 0)
    return [
      {
        name,
        state: 'warning',
        found: `${formatPlural(removable.length, 'folder')} left by killed processes`,
        advice: 'delete them with `retinue doctor --repair`',
      },
    ];
  return removed.length === 0 ? [] : [{ name, state: 'ok', found: `${formatPlural(removed.length, 'folder')} deleted`, advice: null }];
}

/** Fixes the order of keys. */
function checkToJson({ name, state, found, advice }: Check): Check {
  return { name, state, found, advice };
}

function describeChecks(checks: Check[], io: Io): string {
  const nameWidth = Math.max(...checks.map(({ name }) => textWidth(name)));
  const indent = ' '.repeat(nameWidth + 4);
  const lines = checks.flatMap(({ name, state, found, advice }) => {
    const [mark, style] = marks[state];
    const [first = '', ...more] = sanitizeText(found).split('\n').map(sanitizeLine);
    return [
      `${paint(io.colour.out, style, mark)} ${padToWidth(name, nameWidth)}  ${first}`.trimEnd(),
      ...more.map((line) => indent + line),
      ...(advice === null ? [] : [`${indent}${paint(io.colour.out, 'dim', `→ ${sanitizeLine(advice)}`)}`]),
    ];
  });
  return `${lines.join('\n')}\n`;
}
