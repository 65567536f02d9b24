// Codex: `spawn_agent` starts an agent in the background, `wait_agent` waits for the first of several, `send_input` gives an agent more work,
// `close_agent` ends it. Names, parameters and results are those of Codex 0.166.0 (name space multi_agent_v1); the texts are ours.
import { z } from 'zod';
import { effortLevels } from '../contract/effort.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { ChildView } from '../ports/delegation.ts';
import type { DelegationRequest, Dialect, DialectContext, DialectResult, DialectTool } from '../ports/dialect.ts';
import { codexAgents, defaultType, listTypes, typeToAgent } from './codex/agents.ts';
import { inputFields, inputToText } from './codex/input.ts';
import { AgentStatus, viewToStatus } from './codex/status.ts';
import { CodexConfig, parseSettings } from './settings.ts';
import { briefToRequest, omitUndefined, parseDialectBrief } from './shared/brief.ts';
import { toOneLine } from './shared/one-line.ts';
import { createJsonResult, getOnlyChild, getReplyError, nameIdParameter } from './shared/result.ts';
import { limitWaitMs } from './shared/wait-time.ts';

const defaults = { max_threads: 6, max_depth: 1 };
const waitMs = { default: 30_000, min: 10_000, max: 3_600_000 };
const maxTargets = 1000;
const maxLabel = 60;

export function codex(config: z.input<typeof CodexConfig> = {}): Dialect {
  const settings = { ...defaults, ...omitUndefined(parseSettings('codex', CodexConfig, config)) };
  return {
    name: 'codex',
    description: 'Codex: agents in the background that can be waited for, given more input, closed and reopened',
    tools: [createSpawnTool(settings), sendTool, resumeTool, waitTool, closeTool],
    setup: {
      endsWithClient: true,
      limits: { maxDepth: settings.max_depth, maxConcurrent: settings.max_threads },
      whenFull: 'refuse',
      agents: codexAgents,
      root: 'codex/main',
      notOffered: () => tooDeep,
    },
  };
}

const tooDeep = 'Agents at this depth cannot spawn agents. Do the task yourself.';

const Spawn = z.strictObject({
  ...inputFields,
  agent_type: z.string().optional().describe(`The type of the agent, one of those in the description. Default: ${defaultType}.`),
  fork_context: z.boolean().optional().describe('Must be false: an agent starts with its message only.'),
  model: z.string().optional().describe('The model, as provider/model. Default: your own model.'),
  reasoning_effort: z.enum(effortLevels).optional().describe('How much the agent thinks. Default: as much as you.'),
});
const Spawned = z.strictObject({ agent_id: z.string(), nickname: z.string().nullable() });

function createSpawnTool({ max_threads }: typeof defaults): DialectTool<z.infer<typeof Spawn>> {
  return {
    name: 'spawn_agent',
    title: 'Spawn an agent',
    description: ({ agents, maxConcurrent }) =>
      'Starts an agent for one well-defined task and returns its agent_id at once. The agent works in the background with a fresh context: it ' +
      'knows only what you write in message. Start several for independent parts, and continue with your own work meanwhile. Do not do what ' +
      `an agent is doing. At most ${maxConcurrent ?? max_threads} agents run at the same time.\n\nAgent types:\n${listTypes(agents)
        .map(({ name, description }) => `- ${name}: ${toOneLine(description, 300)}`)
        .join('\n')}`,
    input: Spawn,
    output: Spawned,
    readOnly: false,
    destructive: false,
    toRequest({ message, items, agent_type, fork_context, model, reasoning_effort: effort }) {
      if (fork_context) return refuse('fork_context: an agent cannot start with your conversation; write what it must know in message');
      const input = inputToText({ message, items });
      if (!input.ok) return refuse(input.problem);
      const label = toOneLine(input.text, maxLabel);
      const agent = typeToAgent(agent_type?.trim() || defaultType);
      const fields = { task: input.text, label, agent, background: true, ...omitUndefined({ model, effort }) };
      return briefToRequest(parseDialectBrief(fields, { task: message === undefined ? 'items' : 'message', agent: 'agent_type' }), 0);
    },
    fromReply(reply, request, { agents, maxConcurrent }) {
      const child = getOnlyChild(reply);
      if ('error' in child) {
        const type = request.kind === 'delegate' ? (request.briefs[0]?.agent ?? '') : '';
        const known = listTypes(agents).map(({ name }) => name);
        return createError(formatSpawnError(child.error, { max_threads: maxConcurrent ?? max_threads, type, known }));
      }
      return createJsonResult({ agent_id: child.view.row.runId, nickname: null });
    },
  };
}

interface SpawnDetails {
  max_threads: number;
  /** The type that was asked for, and those that exist. */
  type: string;
  known: string[];
}

function formatSpawnError({ code, message }: ErrorInfo, { max_threads, type, known }: SpawnDetails): string {
  if (code === 'depth') return tooDeep;
  if (code === 'parent_full')
    return `All ${max_threads} agents that may run at the same time are running (max_threads). Wait for one or close one.`;
  const text = toOneLine(message);
  if (code === 'unknown_agent')
    return `agent_type: there is no agent type ${JSON.stringify(toOneLine(type, 100))}; available: ${known.join(', ')}`;
  return code === 'unknown_model' ? `model: ${text}` : text;
}

const Target = z.string().describe('The agent_id that spawn_agent returned.');

const Send = z.strictObject({
  target: Target,
  ...inputFields,
  interrupt: z
    .boolean()
    .optional()
    .describe('True stops what the agent is doing, so that it reads the input at once. Otherwise it reads the input at its next step.'),
});

const sendTool: DialectTool<z.infer<typeof Send>> = {
  name: 'send_input',
  title: 'Send input to an agent',
  description: () =>
    'Gives an agent more input. A running agent reads it at its next step, or at once with interrupt. A finished or closed agent starts again ' +
    'with it and keeps its whole context, so reuse an agent whose earlier work matters. Wait for the result with wait_agent and the same id.',
  input: Send,
  output: z.strictObject({ submission_id: z.string() }),
  readOnly: false,
  repeatable: false,
  toRequest({ target, message, items, interrupt }) {
    const input = inputToText({ message, items });
    if (!input.ok) return refuse(input.problem);
    return { kind: 'message', id: target, text: input.text, newest: true, ...(interrupt && { interrupt: true }) };
  },
  fromReply(reply) {
    const child = getOnlyChild(reply);
    return 'error' in child
      ? createError(formatTargetError(child.error, 'target'))
      : createJsonResult({ submission_id: child.view.row.runId });
  },
};

const Resume = z.strictObject({ id: Target });

const resumeTool: DialectTool<z.infer<typeof Resume>> = {
  name: 'resume_agent',
  title: 'Reopen an agent',
  description: () => 'Reopens a closed agent, so that send_input and wait_agent can be used with it again, and returns its status.',
  input: Resume,
  output: z.strictObject({ status: AgentStatus }),
  readOnly: true,
  toRequest: ({ id }) => ({ kind: 'wait', ids: [id], mode: 'any', waitMs: 0, newest: true }),
  fromReply(reply, _, context) {
    const child = getOnlyChild(reply);
    if ('error' in child) return createError(formatTargetError(child.error, 'id'));
    const status = viewToStatus(child.view);
    // Every agent accepts input, so nothing has to be done for a closed one.
    return createStatusResult({ status: status === 'shutdown' ? 'interrupted' : status }, [child.view], context);
  },
};

const Wait = z.strictObject({
  targets: z.array(z.string()).max(maxTargets).describe('The ids of the agents. The call returns as soon as one of them has finished.'),
  timeout_ms: z
    .number()
    .optional()
    .describe(
      `How long to wait, in milliseconds: ${waitMs.min} to ${waitMs.max}. Default: ${waitMs.default}. Wait for minutes instead of polling.`,
    ),
});
const Waited = z.strictObject({ status: z.record(z.string(), AgentStatus), timed_out: z.boolean() });

const waitTool: DialectTool<z.infer<typeof Wait>> = {
  name: 'wait_agent',
  title: 'Wait for agents',
  description: ({ door }) =>
    'Waits until one of several agents has finished, and returns the status of all that have: completed with their last message, errored, or ' +
    `shutdown. The status is empty if the time is over first. Call it only when you need a result to continue.${
      door === 'model' ? ' If you end your turn instead, you get the result of every agent when it finishes.' : ''
    }`,
  input: Wait,
  output: Waited,
  readOnly: true,
  polls: true,
  toRequest({ targets, timeout_ms = waitMs.default }, context) {
    if (targets.length === 0) return refuse('targets: name at least one agent');
    if (timeout_ms <= 0) return refuse('timeout_ms: must be greater than zero');
    const ms = Math.min(Math.max(Math.round(timeout_ms), waitMs.min), waitMs.max);
    return { kind: 'wait', ids: targets, mode: 'any', waitMs: limitWaitMs(ms, context), newest: true };
  },
  fromReply(reply, request, context) {
    if (reply.kind !== 'children' || request.kind !== 'wait') return createError(toOneLine(getReplyError(reply).message));
    const final = new Map<string, AgentStatus>();
    const views: ChildView[] = [];
    for (const [index, child] of reply.children.entries()) {
      const asked = request.ids?.[index] ?? '';
      if (!child.ok) final.set(asked, child.error.code === 'unknown_run' ? 'not_found' : { errored: toOneLine(child.error.message) });
      else if (child.view.outcome) {
        final.set(asked, viewToStatus(child.view));
        views.push(child.view);
      }
    }
    return createStatusResult({ status: Object.fromEntries(final), timed_out: final.size === 0 }, views, context);
  },
};

const Close = z.strictObject({ target: Target });

const closeTool: DialectTool<z.infer<typeof Close>> = {
  name: 'close_agent',
  title: 'Close an agent',
  description: () =>
    'Ends an agent and everything that it delegated, and returns the status that it had before. Changes that it made are kept. Close agents ' +
    'that you do not need any more.',
  input: Close,
  output: z.strictObject({ previous_status: AgentStatus }),
  readOnly: false,
  destructive: true,
  toRequest: ({ target }) => ({ kind: 'cancel', ids: [target], reason: 'closed by the agent that started it', newest: true }),
  fromReply(reply, _, context) {
    const child = getOnlyChild(reply);
    if ('error' in child) return createError(formatTargetError(child.error, 'target'));
    const before = (reply.kind === 'children' ? reply.before?.[0] : null) ?? child.view;
    // An agent that ended meanwhile: its last message must not be lost.
    const view = child.view.outcome?.status === 'cancelled' ? before : child.view;
    return createStatusResult({ previous_status: viewToStatus(view) }, [view], context);
  },
};

/** A result with the status of agents. It is a child's text if one of them has ended. */
function createStatusResult(value: object, views: ChildView[], context: DialectContext): DialectResult {
  const runs = views.flatMap(({ row, outcome }) => (outcome === null ? [] : [row.runId]));
  return createJsonResult(value, { runs, context });
}

function formatTargetError(error: ErrorInfo, parameter: string): string {
  const message = toOneLine(nameIdParameter(error, parameter).message);
  return error.code === 'unknown_run' ? `Agent not found: ${message}` : message;
}

/** Errors are plain text, as in the source. */
function createError(text: string): DialectResult {
  return { parts: [{ text }], isError: true };
}

function refuse(message: string): DelegationRequest {
  return { kind: 'refuse', message };
}
