// Changes of files that the runtime recorded, from facts.
import type { Fact } from '../contract/fact.ts';
import type { FileChange } from '../contract/http.ts';

/** In the order of the facts. */
export function factsToChanges(facts: Fact[]): FileChange[] {
  return facts.flatMap(factToChange);
}

/** Shell commands that were executed; what they changed is not recorded. */
export function countCommands(facts: Fact[]): number {
  return facts.filter((fact) => fact.type === 'tool.asked' && fact.data.tool === 'bash' && fact.data.rejected === null).length;
}

function factToChange(fact: Fact): FileChange[] {
  if (fact.type !== 'artifact.recorded' || fact.data.artifact.kind !== 'diff') return [];
  const { title = '', value } = fact.data.artifact;
  return [{ runId: fact.runId, path: title, ...countChangedLines(value), diff: value }];
}

export function countChangedLines(diff: string): { added: number; removed: number } {
  const lines = diff.split('\n');
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign) && !line.startsWith(sign.repeat(3))).length;
  return { added: count('+'), removed: count('-') };
}
