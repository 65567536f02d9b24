// The order of test files: those that take long first, so that none of them runs alone at the end. Vitest knows how long a file takes only
// from an earlier run, and a fresh clone has had none.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders and files that mostly start processes and wait for them, slowest first. Everything else comes after them. */
const slow = [
  'torture/',
  'web/',
  'cli/sandbox-process',
  'cli/verify-process',
  'cli/origin-process',
  'cli/disk-process',
  'cli/rule-spellings-process',
  'cli/nested-process',
  'server/serve-process',
  'mcp/shutdown',
  'sandboxes/',
  'swap.adversarial',
  'offline-adversarial',
  'adversarial-stops',
  'cli/processes',
  'mcp.adversarial',
  'mcp/',
  'hosts/',
  'client/cuts',
  'server/events',
  'server/shared-stream',
  'telemetry/',
  'cli/',
];

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => groupOf(a) - groupOf(b) || rank(a) - rank(b));
  }
}

/** The slowest comes before everything. Then isolated files: a process is handed on only between files that are not. */
function groupOf(file: TestSpecification): number {
  if (rank(file) === 0) return 0;
  return file.project.config.isolate ? 1 : 2;
}

function rank({ moduleId }: TestSpecification): number {
  const path = moduleId.slice(moduleId.lastIndexOf('/test/') + '/test/'.length);
  const index = slow.findIndex((part) => path.startsWith(part) || path.includes(`/${part}`));
  return index === -1 ? slow.length : index;
}
