// What each answer of a server must look like. Only programs that show answers in a terminal load this: it needs the schema library, which is too large
// for a page.
import { z } from 'zod';
import type { StreamEvent } from '../api/api.ts';
import { Artifact } from '../contract/artifact.ts';
import { type FactType, factData } from '../contract/fact.ts';
import * as Http from '../contract/http.ts';
import { RunId } from '../contract/ids.ts';
import { Outcome } from '../contract/outcome.ts';
import * as View from '../contract/view.ts';

/** Sent back to the server as a header or in a query. */
const Position = z.string().regex(/^[\x21-\x7e]{1,200}$/);

/** A fact of a type that this version does not know has any data. */
const Fact = Http.FactJson.extend({ type: z.string().regex(/^[a-z]+(\.[a-z]+)+$/), position: Position }).superRefine(
  ({ type, data, erased }, context) => {
    const schema = Object.hasOwn(factData(), type) ? factData()[type as FactType] : null;
    if (erased || schema === null) return;
    const { error } = schema.safeParse(data);
    for (const issue of error?.issues ?? []) context.addIssue({ ...issue, path: ['data', ...issue.path] } as never);
  },
);

const Delta = z.object({
  type: z.literal('delta'),
  runId: RunId,
  turn: z.int(),
  kind: z.enum(['text', 'reasoning', 'tool']),
  text: z.string(),
});

/** By the names of the client's calls. */
export const answerSchemas = {
  server: Http.ServerInfo,
  workspaces: z.array(Http.Workspace),
  runs: z.array(View.RunView),
  trees: View.TreeList,
  run: Http.RunDetailJson.extend({ pid: z.int().nullable() }),
  tree: View.TreeSnapshot.extend({ position: Position }),
  facts: z.array(Fact),
  outcome: Outcome.nullable(),
  artifacts: z.array(Artifact.extend({ runId: RunId, seq: z.int() })),
  diff: z.array(Http.FileChange),
  search: z.array(View.SearchHit),
  costs: z.array(View.CostRow),
  questions: z.array(View.Question),
  agents: z.array(Http.AgentJson),
  models: z.array(Http.ListedModel),
  memories: z.array(Http.MemoryJson),
  position: Position,
  start: Http.StartResponse,
  startFlow: Http.StartResponse,
  enqueue: Http.EnqueueResponse,
  queues: Http.QueuesResponse,
  cancel: Http.CancelResponse,
  message: Http.MessageResponse,
  compact: Http.CompactResponse,
  pause: Http.PauseResponse,
  resume: Http.ResumeResponse,
  fork: Http.StartResponse,
  replay: Http.ReplayResponse,
  verify: Http.VerifyResponse,
  answer: Http.AnswerResponse,
  policy: Http.PolicyVerdict,
} satisfies Record<string, z.ZodType>;

export function eventSchema({ type }: StreamEvent): z.ZodType {
  if (type === 'delta') return Delta;
  return type === 'reset' ? z.object({ type: z.literal('reset'), position: Position }) : Fact;
}
