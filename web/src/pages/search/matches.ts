// Where a searched text occurs, and what kind of record has it. Pure.

export interface Piece {
  text: string;
  isMatch: boolean;
}

/** The text in pieces; upper and lower case are the same, as for the server. */
export function splitMatches(text: string, query: string): Piece[] {
  if (query === '') return [{ text, isMatch: false }];
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(new RegExp(escapePattern(query), 'giu'))) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), isMatch: false });
    pieces.push({ text: match[0], isMatch: true });
    end = match.index + match[0].length;
  }
  if (end < text.length || pieces.length === 0) pieces.push({ text: text.slice(end), isMatch: false });
  return pieces;
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

const places: Record<string, string> = {
  'run.created': 'Brief',
  'run.started': 'First message',
  'model.answered': 'Answer',
  'model.failed': 'Failed model call',
  'model.nudged': 'Reminder to the model',
  'model.called': 'Model call of an external agent',
  'session.opened': 'Session of an external agent',
  'session.prompted': 'Prompt to an external agent',
  'step.started': 'Step of a flow',
  'step.finished': 'Result of a step',
  'flow.returned': 'Result of a flow',
  'check.started': 'Check',
  'check.finished': 'Result of a check',
  'tool.asked': 'Tool call',
  'tool.finished': 'Tool result',
  'message.received': 'Message',
  'artifact.recorded': 'Artifact',
  'context.compacted': 'Summary of the conversation',
  'workspace.prepared': 'Files of the run',
  'workspace.saved': 'Changed files',
  'changes.planned': 'Planned changes',
  'changes.made': 'Applied changes',
  'changes.discarded': 'Discarded changes',
  'child.created': 'New child',
  'child.ended': 'Result of a child',
  'approval.asked': 'Question',
  'approval.answered': 'Answer to a question',
  'cancel.asked': 'Cancellation',
  'run.paused': 'Pause',
  'run.resumed': 'Resumption',
  'run.ended': 'Outcome',
};

/** Where in a run the text was found, in words. */
export function describePlace(type: string): string {
  return places[type] ?? type;
}
