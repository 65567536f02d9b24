// Fills in what an agent's definition leaves to the brief: values of its parameters. What the definition gives to the brief, such as a form of the result
// and acceptance checks, moves there. The result is what admission pins, so a resumed run needs no values.
import type { Agent } from '../../contract/agent.ts';
import type { AgentParameter, ParameterValues } from '../../contract/agent-parameter.ts';
import type { Brief } from '../../contract/brief.ts';
import type { Check } from '../../contract/check.ts';
import { RetinueError } from '../../contract/error.ts';
import { unknownNameMessage } from '../../text/suggest.ts';

const placeholder = /\{\{\s*([A-Za-z_][A-Za-z0-9_]{0,63})\s*\}\}/g;
/** Without a meaning for the shell, wherever in a command they are. */
const plainWord = /^[A-Za-z0-9_@%+=:,./][A-Za-z0-9_@%+=:,./-]*$/;
const number = /^-?\d+(\.\d+)?$/;
const date = /^\d{4}-\d{2}-\d{2}([T ][\d:.Z+-]{1,30})?$/;
const maxPath = 4096;

/** Throws `invalid_brief` for missing, unknown and unsuitable values. A follow-up keeps only the prompt: its question is another one. */
export function fillAgent(given: Agent, brief: Brief): { agent: Agent; brief: Brief } {
  const { parameters, result, checks, maxCheckRounds, hasTask, ...rest } = given;
  const values = resolveValues(given, brief.params ?? {});
  if ([parameters, result, checks, maxCheckRounds, hasTask].every((each) => each === undefined)) return { agent: given, brief };
  const agent: Agent = { ...rest, prompt: fillText(rest.prompt, values) };
  return { agent, brief: brief.continues === undefined ? fillBrief(given, brief, values) : brief };
}

/** The keys are sorted, as in the fact that carries the brief. */
function fillBrief(
  { parameters = [], result, checks = [], maxCheckRounds }: Agent,
  brief: Brief,
  values: ReadonlyMap<string, string>,
): Brief {
  const named = parameters.flatMap(({ name, type }) => (type === 'file' ? [values.get(name) as string] : []));
  const files = [...(brief.files ?? []), ...named];
  const allChecks = [...checks.map((check) => fillCheck(check, values)), ...(brief.checks ?? [])];
  const rounds = brief.maxCheckRounds ?? maxCheckRounds;
  const schema = brief.result?.schema ?? result?.schema;
  const filled: Brief = {
    ...brief,
    ...(allChecks.length > 0 && { checks: allChecks }),
    ...(files.length > 0 && { files }),
    ...(rounds !== undefined && { maxCheckRounds: rounds }),
    ...(schema !== undefined && { result: { ...brief.result, schema } }),
  };
  return Object.fromEntries(Object.entries(filled).sort(([a], [b]) => (a < b ? -1 : 1))) as Brief;
}

/** Values that show what a run would get, for an agent that needs some. */
export function sampleValues({ parameters = [] }: Agent): ParameterValues {
  const samples: Record<string, string> = { number: '1', boolean: 'true', date: '2026-01-01' };
  const needed = parameters.filter((each) => each.default === undefined);
  return Object.fromEntries(needed.map(({ name, type = 'string', options }) => [name, options?.[0] ?? samples[type] ?? 'value']));
}

function resolveValues({ name: agent, parameters = [] }: Agent, given: ParameterValues): Map<string, string> {
  const known = parameters.map(({ name }) => name);
  for (const name of Object.keys(given)) {
    if (known.length === 0) throw new RetinueError('invalid_brief', `params.${name}: the agent ${agent} has no parameters`);
    if (!known.includes(name)) throw new RetinueError('invalid_brief', `params: ${unknownNameMessage('parameter', name, known)}`);
  }
  const missing = parameters.filter((each) => !Object.hasOwn(given, each.name) && each.default === undefined);
  if (missing.length > 0) {
    const list = missing.map(({ name, description }) => (description ? `${name} (${description})` : name)).join(', ');
    throw new RetinueError('invalid_brief', `params: the agent ${agent} needs a value for ${list}`);
  }
  return new Map(
    parameters.map((parameter) => {
      const { name } = parameter;
      const value = (Object.hasOwn(given, name) ? given[name] : parameter.default) as string;
      const problem = findProblem(parameter, value);
      if (problem !== null) throw new RetinueError('invalid_brief', `params.${name}: ${problem}`);
      return [name, value.toWellFormed()];
    }),
  );
}

function findProblem({ type, options = [] }: AgentParameter, value: string): string | null {
  switch (type) {
    case 'number':
      return number.test(value) ? null : 'must be a number';
    case 'boolean':
      return value === 'true' || value === 'false' ? null : 'must be true or false';
    case 'date':
      return date.test(value) ? null : 'must be a date, such as 2026-01-31';
    case 'select':
      return options.includes(value) ? null : `must be one of ${options.join(', ')}`;
    case 'file':
      return value !== '' && value.length <= maxPath ? null : 'must be the path of a file';
    default:
      return null;
  }
}

/** One pass: what a value contains is not filled in again. */
function fillText(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(placeholder, (whole, name: string) => values.get(name) ?? whole);
}

/** A value must not change what a command does. */
function fillCheck(check: Check, values: ReadonlyMap<string, string>): Check {
  if ('agent' in check) return { ...check, task: fillText(check.task, values) };
  const command = check.command.replace(placeholder, (whole, name: string) => {
    const value = values.get(name);
    if (value === undefined) return whole;
    if (plainWord.test(value) || number.test(value)) return value;
    const allowed = 'letters, digits and _ @ % + = : , . / -';
    throw new RetinueError('invalid_brief', `params.${name}: it is part of an acceptance check, so it may contain only ${allowed}`);
  });
  return { ...check, command };
}
