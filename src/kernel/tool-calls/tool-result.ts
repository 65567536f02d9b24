// What a tool returned: whether it has the right form, and the facts that it becomes.
import { z } from 'zod';
import { Artifact } from '../../contract/artifact.ts';
import { FileState, type PathChange } from '../../contract/change-set.ts';
import type { Draft } from '../../contract/fact.ts';
import { RunId } from '../../contract/ids.ts';
import type { CallState } from '../../conversation/request.ts';
import type { StoredBlob } from '../../ports/store.ts';
import type { AnyTool, ChangedFile, ToolResult } from '../../ports/tool.ts';
import { sha256 } from '../../text/canonical.ts';
import { cutMiddle } from '../../text/cut.ts';
import { markInvisible } from '../../text/invisible.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { toolFinishedFact } from './judge.ts';

const defaultOutputBytes = 50_000;
/** The most that is kept of an output; tools bound their own outputs far below this. */
const maxKeptBytes = 4 * 1024 * 1024;

export interface CallAttempt {
  status: 'ok' | 'error' | 'denied' | 'timeout' | 'cancelled' | 'unknown';
  result: ToolResult;
}

const ResultSchema = z.object({
  output: z.string(),
  isError: z.boolean().optional(),
  artifacts: z.array(Artifact).optional(),
  changes: z
    .array(
      z.object({ path: z.string(), before: z.object({ mode: FileState.shape.mode, content: z.base64() }).nullable(), after: FileState }),
    )
    .optional(),
  taint: z.array(z.string()).optional(),
  told: z.array(RunId).optional(),
});

/** Results become facts, so their form is checked: a tool that returns anything else has failed. */
export function parseToolResult(value: unknown): ToolResult {
  const plain = readPlainResult(value);
  if (plain !== null) return plain;
  const parsed = ResultSchema.safeParse(value);
  if (parsed.success) return parsed.data as ToolResult;
  const issue = parsed.error.issues[0];
  throw new Error(`it returned no valid result (${issue?.path.join('.') || 'result'}: ${issue?.message})`);
}

/** A result of only an output, like most; null for others. */
function readPlainResult(value: unknown): ToolResult | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const key in value) if (key !== 'output') return null;
  const { output } = value as ToolResult;
  return typeof output === 'string' ? { output } : null;
}

/**
 * A result as facts, and the texts they refer to. Secrets are removed, then invisible characters are marked, then the text is cut for the model. A cut
 * text is kept as an artifact, up to 4 MiB.
 */
export function attemptToFacts(
  run: Run,
  { call, attempt, tool, memo }: { call: CallState; attempt: CallAttempt; tool: AnyTool | undefined; memo: ReadonlyMap<string, string> },
  { redact }: Services,
): { drafts: Draft[]; blobs: StoredBlob[] } {
  const { status, result } = attempt;
  const maxBytes = tool?.maxOutputBytes ?? defaultOutputBytes;
  // Redacted before any cut: a cut through a secret would leave a part of it.
  const bounded = cutMiddle(redact(String(result.output ?? '').toWellFormed(), true), Math.max(maxKeptBytes, maxBytes));
  const whole = markInvisible(bounded.text);
  const cut = cutMiddle(whole, maxBytes);
  const originalBytes = bounded.truncated?.originalBytes ?? cut.truncated?.originalBytes ?? 0;
  const truncated = cut.truncated ? { originalBytes, keptBytes: cut.truncated.keptBytes } : null;
  const blobs = truncated ? [{ hash: sha256(whole), content: whole }] : [];
  const note = { bytes: originalBytes, kind: 'note' as const, title: `whole output of ${call.tool}`, value: '' };
  const clean = (text: string) => redact(text.toWellFormed(), true);
  // A run with files of its own needs no record of single changes.
  const changes = run.files ? [] : (result.changes ?? []).map(toKeptChange);
  const findChange = ({ kind, value }: Artifact) =>
    kind === 'path' ? changes.find(({ change }) => change.path === value)?.change : undefined;
  const artifacts = (result.artifacts ?? []).map((artifact) => ({
    artifact: { ...artifact, ...(artifact.title === undefined ? {} : { title: clean(artifact.title) }), value: clean(artifact.value) },
    change: clean(artifact.value) === artifact.value ? findChange(artifact) : undefined,
  }));
  // A path that holds a secret is forgotten.
  const remembered = Object.fromEntries([...memo].filter(([key]) => clean(key) === key));
  const taint = [...new Set([...(tool?.taint ?? []), ...(result.taint ?? [])])];
  return {
    drafts: [
      ...artifacts.map(({ artifact, change }) => artifactFact(call, artifact, { blob: null, change })),
      ...blobs.map(({ hash }) => artifactFact(call, note, { blob: hash })),
      toolFinishedFact(call, {
        status,
        output: cut.text,
        ...(memo.size > 0 && { memo: remembered }),
        truncated,
        taint,
        told: result.told ?? [],
      }),
    ],
    blobs: [...blobs, ...changes.flatMap(({ kept }) => kept)],
  };
}

/** The content before is kept as it is, for `retinue undo`. */
function toKeptChange({ path, before, after }: ChangedFile): { change: PathChange; kept: StoredBlob[] } {
  if (before === null) return { change: { path, before, after }, kept: [] };
  const content = Buffer.from(before.content, 'base64');
  const hash = sha256(content);
  return { change: { path, before: { mode: before.mode, hash, bytes: content.length }, after }, kept: [{ hash, content }] };
}

interface ArtifactMore {
  blob: string | null;
  change?: PathChange | undefined;
}

function artifactFact({ turn, index }: CallState, artifact: Artifact, { blob, change }: ArtifactMore): Draft {
  return { type: 'artifact.recorded', data: { artifact, blob, ...(change && { change }), index, turn } };
}
