// `retinue demo merge`: three writers with their own copies, their changes, and what can be applied of them.
import type { Api, ApplyReport } from '../../api/api.ts';
import { formatPath, sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { quoteForShell, shortId } from '../../views/format.ts';
import { paint, type Style } from '../../views/style.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withLocalApi } from '../session/open-api.ts';

export interface MergeDemoResult {
  db: string;
  workspace: string;
  children: { runId: string; label: string | null; files: string[] }[];
  applied: string[];
  conflicts: { runId: string; paths: string[] }[];
}

/** Exit code 0 if two of the three were applied, and the third one was reported as a conflict. */
export async function runMergeDemo(io: Io, json: boolean): Promise<number> {
  const demo = await io.mergeDemo();
  const { workspace, model, db, task } = demo;
  const session = { flags: { workspace, model, db, limits: {}, rules: [] }, drive: true, startsRuns: true, agents: { chosen: undefined } };
  return withLocalApi(io, session, async (api) => {
    io.err(`retinue: ${demo.about}\n`);
    const root = await api.start({ task, model });
    await root.outcome;
    const { children } = await api.show(root.id);
    const found: MergeDemoResult['children'] = [];
    for (const { runId, label } of children) {
      const changes = await api.changes(runId);
      found.push({ runId, label, files: changes.map(({ path }) => path) });
      io.err(`\n${shortId(runId)} ${sanitizeLine(label ?? '')}\n${colourDiff(changes.map(({ diff }) => diff).join(''), io)}`);
    }
    const ids = children.map(({ runId }) => runId);
    const report = await apply(api, ids, io);
    const result: MergeDemoResult = { db, workspace, children: found, applied: report.applied, conflicts: report.conflicts.map(toJson) };
    if (json) printJson(io, result);
    else io.out(describe(report, found));
    io.err(describeNext({ db, workspace }, ids));
    return report.applied.length === 2 && report.conflicts.length === 1 ? 0 : 1;
  });
}

async function apply(api: Api, ids: string[], io: Io): Promise<ApplyReport> {
  io.err(`\nretinue apply ${ids.map(shortId).join(' ')}\n`);
  return api.apply(ids, { check: false });
}

function toJson({ runId, paths }: ApplyReport['conflicts'][number]): MergeDemoResult['conflicts'][number] {
  return { runId, paths: paths.map(({ path }) => path) };
}

function describe({ applied, conflicts }: ApplyReport, children: MergeDemoResult['children']): string {
  const name = (runId: string) => `${shortId(runId)} ${sanitizeLine(children.find((child) => child.runId === runId)?.label ?? '')}`;
  const refused = conflicts.flatMap(({ runId, paths }) =>
    paths.map(({ path, reason }) => `conflict  ${name(runId)}: ${formatPath(path)} ${reason}`),
  );
  return `${[...applied.map((runId) => `applied   ${name(runId)}`), ...refused].join('\n')}\n`;
}

function describeNext({ db, workspace }: { db: string; workspace: string }, ids: string[]): string {
  const flags = `-C ${quoteForShell(workspace)} --db ${quoteForShell(db)}`;
  return [
    '',
    'To look at one of them, or to take everything back:',
    `  retinue diff ${shortId(ids[2] ?? '')} ${flags}`,
    `  retinue undo ${ids.map(shortId).join(' ')} ${flags}`,
    '',
  ].join('\n');
}

function colourDiff(diff: string, io: Io): string {
  const style = (line: string): Style | null => (line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : null);
  return sanitizeText(diff)
    .split('\n')
    .filter((line) => !/^(diff --git|index|new file mode|---|\+\+\+)/.test(line))
    .map((line) => paint(io.colour.err, style(line), line))
    .join('\n');
}
