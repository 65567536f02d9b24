// Runs of several workspaces as tables, for `ps --everywhere`.
import { join } from 'node:path';
import type { RunView } from '../../api/api.ts';
import type { RegisteredDatabase } from '../../config/workspace-registry.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { paint } from '../../views/style.ts';
import type { Io } from '../io.ts';
import { formatRuns } from './run-table.ts';

export interface WorkspaceRuns {
  database: RegisteredDatabase;
  runs: RunView[];
  questions: number;
}

/** One table for each workspace that has runs. */
export function formatWorkspaces(workspaces: WorkspaceRuns[], io: Io): string {
  return workspaces
    .filter(({ runs }) => runs.length > 0)
    .map(({ database, runs }) => `${paint(io.colour.out, 'bold', sanitizeLine(describeDatabase(database)))}\n${formatRuns(runs, io)}`)
    .join('\n');
}

/** How another command names the workspace: `-C DIR`, and the database if it is not the workspace's own. */
export function workspaceArguments({ workspace, db }: RegisteredDatabase): string {
  const flags = ['-C', quoteArgument(workspace), ...(isDefault({ workspace, db }) ? [] : ['--db', quoteArgument(db)])];
  return flags.join(' ');
}

function describeDatabase({ workspace, db }: RegisteredDatabase): string {
  return isDefault({ workspace, db }) ? workspace : `${workspace} (${db})`;
}

function isDefault({ workspace, db }: Pick<RegisteredDatabase, 'workspace' | 'db'>): boolean {
  return db === join(workspace, '.retinue', 'retinue.db');
}

/** For a shell. */
function quoteArgument(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
