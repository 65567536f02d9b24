// OpenFork: `task` delegates to a subagent of a type, in the foreground or background; `task_status` and `task_cancel` follow up.
// Texts quoted from the source are fixed.
import { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import { defaultLimits } from '../contract/limits.ts';
import type { DelegationReply, DelegationRequest, Dialect, DialectContext, DialectResult, DialectTool } from '../ports/dialect.ts';
import type { DialectExtensions } from './extensions.ts';
import {
  createRefusal,
  formatDenial,
  formatIdentity,
  formatLaunched,
  formatOutcome,
  formatStillRunning,
  notPrimary,
  viewToStatus,
} from './openfork/texts.ts';
import { agentToType, childRules, createOpenforkAgents, createOwnTypes, subagentTypes, typeToAgent } from './openfork/types.ts';
import { OpenforkConfig, parseSettings } from './settings.ts';
import { briefToRequest, parseDialectBrief } from './shared/brief.ts';
import { toOneLine } from './shared/one-line.ts';
import { getOnlyChild, nameIdParameter } from './shared/result.ts';
import { resolveWaitMs } from './shared/wait-time.ts';

const maxTurnsLimit = 50;

export function openfork(config: z.input<typeof OpenforkConfig> = {}, { agents = [] }: DialectExtensions = {}): Dialect {
  const { max_concurrent = 8, models = {}, types = {} } = parseSettings('openfork', OpenforkConfig, config);
  const own = createOwnTypes(types);
  const configured = [...createOpenforkAgents(models), ...own];
  return {
    name: 'openfork',
    description: 'OpenFork: typed subagents in the foreground or background, with status, cancellation and lifecycle events',
    tools: [createTaskTool([...own, ...agents]), statusTool, cancelTool],
    setup: {
      endsWithClient: true,
      limits: { maxDepth: 1, maxConcurrent: max_concurrent },
      agents: configured,
      root: typeToAgent('main'),
      rules: childRules,
      denial: formatDenial,
      asks: false,
      notOffered: () => notPrimary,
    },
  };
}

const createTask = (types: readonly Agent[]) => {
  const turns = types.map(({ name, limits }) => `, ${agentToType(name)} ${limits?.maxTurns ?? defaultLimits.maxTurns}`).join('');
  return z.strictObject({
    subagent_type: z.enum([...subagentTypes, ...types.map(({ name }) => agentToType(name))]).describe('Type of subagent to spawn'),
    prompt: z.string().describe('Detailed task description for the subagent'),
    description: z.string().describe('Short description (3-5 words) for display'),
    run_in_background: z.boolean().default(false).describe('Run asynchronously without blocking'),
    max_turns: z
      .int()
      .optional()
      .meta({ minimum: 1 })
      .describe(
        `Maximum agent turns before stopping; larger values become ${maxTurnsLimit} (default: general 20, explore 15, planner 10, researcher 10${turns})`,
      ),
  });
};
type Task = z.infer<ReturnType<typeof createTask>>;

const createDescription = (types: readonly Agent[]) => `Launch a specialized subagent to handle a specific task.
The subagent runs in its own session and returns results when complete.

Use this when:
- Task requires specialized capabilities (exploration, planning, research)
- You want to delegate work while continuing other tasks
- The task is well-defined and can be completed independently

Available subagent types:
- general: Open-ended tasks
- explore: Codebase exploration (read-only)
- planner: Task planning (no execution)
- researcher: Web research and documentation${types.map(describeType).join('')}

IMPORTANT: Subagents cannot spawn their own subagents.`;

function describeType({ name, description }: Agent): string {
  return `\n- ${agentToType(name)}${description === '' ? '' : `: ${toOneLine(description, 300)}`}`;
}

/** `types`: those of the owner, besides the four of the source. */
function createTaskTool(types: readonly Agent[]): DialectTool<Task> {
  return {
    name: 'task',
    title: 'Launch a subagent',
    description: () => createDescription(types),
    input: createTask(types),
    readOnly: false,
    destructive: false,
    toRequest,
    fromReply(reply, request) {
      const child = getOnlyChild(reply);
      if ('error' in child) return createRefusal(child.error);
      const { outcome } = child.view;
      if (outcome !== null) return { parts: formatOutcome(outcome), isError: !outcome.success };
      const isBackground = request.kind === 'delegate' && request.briefs[0]?.background === true;
      return { parts: [{ text: isBackground ? formatLaunched(child.view) : formatStillRunning(child.view) }], isError: false };
    },
  };
}

function toRequest(input: Task, context: DialectContext): DelegationRequest {
  if (input.description.trim() === '') return { kind: 'refuse', message: 'description: must not be empty' };
  if (input.max_turns !== undefined && input.max_turns < 1) return { kind: 'refuse', message: 'max_turns: must be at least 1' };
  const fields = {
    task: input.prompt,
    label: input.description,
    agent: typeToAgent(input.subagent_type),
    result: { mode: 'full' as const },
    ...(input.run_in_background && { background: true }),
    ...(input.max_turns !== undefined && { limits: { maxTurns: Math.min(input.max_turns, maxTurnsLimit) } }),
  };
  return briefToRequest(
    parseDialectBrief(fields, { task: 'prompt', label: 'description' }),
    input.run_in_background ? 0 : resolveWaitMs(undefined, context),
  );
}

const Id = z.string().describe('The ID that the task tool returned');
const Status = z.strictObject({
  id: Id,
  wait: z.boolean().default(false).describe('Wait until the subagent has finished'),
});

const statusTool: DialectTool<z.infer<typeof Status>> = {
  name: 'task_status',
  title: 'Status of a subagent',
  description: () =>
    'Check a subagent that was launched with the task tool. Returns its status (pending, running, completed, failed or cancelled), and its ' +
    'result once it has finished. With wait it returns when the subagent has finished.',
  input: Status,
  readOnly: true,
  polls: true,
  toRequest: ({ id, wait }, context) => ({ kind: 'wait', ids: [id], mode: 'all', waitMs: wait ? resolveWaitMs(undefined, context) : 0 }),
  fromReply: formatStatus,
};

const Cancel = z.strictObject({ id: Id });

const cancelTool: DialectTool<z.infer<typeof Cancel>> = {
  name: 'task_cancel',
  title: 'Cancel a subagent',
  description: () => 'Cancel a subagent that was launched with the task tool. Changes that it made are kept.',
  input: Cancel,
  readOnly: false,
  destructive: true,
  toRequest: ({ id }) => ({ kind: 'cancel', ids: [id], reason: null }),
  fromReply: formatStatus,
};

/** Status, identity and, once it has ended, the outcome of a subagent. */
function formatStatus(reply: DelegationReply): DialectResult {
  const child = getOnlyChild(reply);
  if ('error' in child) return createRefusal(nameIdParameter(child.error, 'id'));
  const { row, outcome } = child.view;
  const head = `Status: ${viewToStatus(child.view).toLowerCase()}\n${formatIdentity(row)}`;
  if (outcome === null) return { parts: [{ text: head }], isError: false };
  return { parts: [{ text: `${head}\n` }, ...formatOutcome(outcome)], isError: false };
}
