// Explains what became of the runs of a client run that this process can no longer write: the disk was full, or another process took over.
import type { Api, RunView } from '../api/api.ts';
import type { RetinueError } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { Delegation } from '../ports/delegation.ts';
import { cleanText } from '../text/cut.ts';

const maxLines = 50;
const maxLabelChars = 80;

export interface LostRuns {
  /** Runs that have not ended. */
  runs: RunView[];
  outcomes: Outcome[];
}

/** `delegation`: of the client that replaces the lost one. Runs of dialects that end with their client are ended by this. */
export async function readLostRuns(clientId: string, api: Api, delegation: Delegation): Promise<LostRuns> {
  const outcomes: Outcome[] = [];
  const runs: RunView[] = [];
  for (const child of (await api.show(clientId)).children) {
    const view = await delegation.viewEarlier(child.runId);
    if (view?.outcome) outcomes.push(view.outcome);
    else runs.push(child);
  }
  return { runs, outcomes };
}

export function formatLoss({ code, message }: RetinueError, runs: RunView[]): string {
  const isTakenOver = code === 'fenced';
  const cause = isTakenOver
    ? 'Another process took over the runs of this connection, because this server had not responded for a while.'
    : `The runs of this connection could not be recorded any more, so they were stopped. ${message}`;
  const lines = runs.slice(0, maxLines).map((run) => formatRun(run, isTakenOver));
  const more = runs.length > maxLines ? [`and ${runs.length - maxLines} more; \`retinue ps\` lists them`] : [];
  const head = runs.length === 0 ? 'All runs delegated before have ended.' : 'Runs delegated before that have not ended:';
  return cleanText([`${cause} This server works again, with new runs. ${head}`, ...lines, ...more].join('\n'));
}

function formatRun({ runId, label, driven }: RunView, isTakenOver: boolean): string {
  const isContinued = isTakenOver && driven;
  const name = label === null ? [] : [JSON.stringify(cleanText(label).replace(/\s+/g, ' ').slice(0, maxLabelChars))];
  const head = [`run ${runId}`, isContinued ? 'running' : 'interrupted', ...name].join(' · ');
  return `[${head}] ${isContinued ? 'another process continues it' : `continue it with \`retinue resume ${runId}\``}`;
}
