// A client that checks what a server answers before a terminal shows it: a server can be something else than it seems, or of another version.
import type { z } from 'zod';
import type { StreamEvent } from '../api/api.ts';
import { CostRow, RunView, TreeView } from '../contract/view.ts';
import { formatPlural } from '../views/format.ts';
import { answerSchemas, eventSchema } from './answer-schemas.ts';
import type { Client } from './client.ts';
import { RemoteError } from './error.ts';

type Call = (...args: unknown[]) => Promise<unknown>;

/**
 * The same client. Its calls reject with `not_retinue`, and its events end with it, if the server sends something of another shape. A list leaves out rows
 * that cannot be read as long as others can; the first time, `warn` says so.
 */
export function createCheckedClient(client: Client, warn: (message: string) => void = () => {}): Client {
  const calls = client as unknown as Record<string, Call>;
  let hasWarned = false;
  const onUnreadable = (count: number, fault: string) => {
    if (!hasWarned) warn(`${formatPlural(count, 'row')} of the server at ${client.url} cannot be read and not shown${fault}`);
    hasWarned = true;
  };
  const checked = Object.entries(answerSchemas).map(([name, schema]): [string, Call] => [
    name,
    async (...args) => check(keepReadable(name, await (calls[name] as Call)(...args), onUnreadable), schema, client.url),
  ]);
  return {
    ...client,
    ...(Object.fromEntries(checked) as unknown as Omit<Client, 'url' | 'events'>),
    async *events(options) {
      for await (const event of client.events(options)) yield check(event, eventSchema(event), client.url) as StreamEvent;
    },
  };
}

/** Rows of lists of runs stand alone. Facts do not: without one, the others would tell something else. */
const rowSchemas: Record<string, z.ZodType> = { runs: RunView, trees: TreeView, costs: CostRow };

/** The same answer without rows that cannot be read, unless there are no others. */
function keepReadable(name: string, answer: unknown, onUnreadable: (count: number, fault: string) => void): unknown {
  const schema = rowSchemas[name];
  if (schema === undefined) return answer;
  const list = name === 'trees' ? (answer as { trees?: unknown } | null)?.trees : answer;
  if (!Array.isArray(list)) return answer;
  const faults = list.map((row) => findFault(row, schema));
  const readable = list.filter((_, index) => faults[index] === null);
  if (readable.length === list.length || readable.length === 0) return answer;
  onUnreadable(list.length - readable.length, faults.find((fault) => fault !== null) ?? '');
  return name === 'trees' ? { ...(answer as object), trees: readable } : readable;
}

/** The value itself: keys of a newer server stay, and are not looked at. */
function check(value: unknown, schema: z.ZodType, url: string): unknown {
  const fault = findFault(value, schema);
  if (fault === null) return value;
  throw new RemoteError('not_retinue', `the server at ${url} sent an answer that this version of Retinue cannot read${fault}`);
}

/** What code that walks an answer can bear. */
const maxDepth = 500;

/** Null if the value has the right shape; otherwise where it has not. */
function findFault(value: unknown, schema: z.ZodType): string | null {
  if (isDeep(value)) return ` (it is nested more than ${maxDepth} levels deep)`;
  const issue = schema.safeParse(value).error?.issues.find((each) => !isOnlyNew(each));
  if (issue === undefined) return null;
  return issue.path.length === 0 ? '' : ` (${issue.path.join('.')}: ${issue.message})`;
}

function isDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}

/** A newer server may send more than this version knows. */
function isOnlyNew(issue: z.core.$ZodIssue): boolean {
  if (issue.code === 'unrecognized_keys') return true;
  return issue.code === 'invalid_union' && issue.errors.some((issues) => issues.every(isOnlyNew));
}
