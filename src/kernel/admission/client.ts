// Admits clients: root runs without a model, for a program or connection that delegates from outside.
import type { FactData } from '../../contract/fact.ts';
import type { LimitsGiven } from '../../contract/limits.ts';
import { parseTraceContext, type TraceHeaders } from '../../contract/trace-context.ts';
import { computeClientLimits } from '../../rules/limits.ts';
import { type ClientReach, createClientTag } from '../delegation/client-reach.ts';
import type { Admission, AdmissionDeps, AdmissionDialect } from './admission.ts';

/** Omitted fields behave as for a library scope, which sees only its own runs. */
export interface ClientRunOptions extends Partial<ClientReach> {
  label?: string;
  limits?: LimitsGiven;
  /** Shared budgets that everything below it draws from, besides those of the settings. */
  budgets?: readonly string[];
  /** The trace of the caller. Malformed values are ignored. */
  trace?: TraceHeaders;
}

/**
 * Admits a client: a root without a model, for a program or connection that delegates from outside. It has only the limits set for it. Its budgets have been
 * admitted.
 */
export function admitClient(
  runId: string,
  { options, dialect }: { options: ClientRunOptions; dialect: AdmissionDialect },
  { settings }: Pick<AdmissionDeps, 'settings'>,
): Admission {
  const { maxDepth, maxConcurrent, maxOutputBytes } = settings.limits;
  const limits = computeClientLimits([
    { from: 'dialect', limits: dialect.setup.limits ?? {} },
    {
      from: 'config',
      limits: {
        ...(maxDepth === undefined ? {} : { maxDepth }),
        ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
        ...(maxOutputBytes === undefined ? {} : { maxOutputBytes }),
      },
    },
    { from: 'command', limits: options.limits ?? {} },
  ]);
  const rulesets = settings.rulesets(dialect.delegationTools);
  const { budgets = [] } = options;
  const trace = parseTraceContext(options.trace);
  const created: FactData['run.created'] = {
    agent: null,
    brief: {
      task: 'delegates from outside',
      ...(options.label === undefined ? {} : { label: options.label }),
      ...(options.name ? { tags: [createClientTag(options.name)] } : {}),
    },
    depth: 0,
    dialect: dialect.name,
    grant: {
      ...(budgets.length > 0 && { budgets: [...budgets] }),
      limits,
      notAfter: null,
      rulesets,
      tools: [],
      workspace: settings.workspace,
    },
    host: 'inline',
    kind: 'client',
    model: null,
    notices: [],
    parentCall: null,
    parentId: null,
    rootId: runId,
    ...(trace && { trace }),
  };
  return { created, work: null, blobs: [] };
}
