// Reads the file of an eval, with errors that name the line.
import { basename, dirname, resolve } from 'node:path';
import { z } from 'zod';
import { parseJsonDocument } from '../config/json-document.ts';
import { RetinueError } from '../contract/error.ts';
import { type EvalCase, EvalFile, type EvalInput, type Variant } from '../contract/eval.ts';
import { defaultLimits, type LimitName, type Limits, type LimitsGiven } from '../contract/limits.ts';
import { canonical, sha256 } from '../text/canonical.ts';
import { describeIssue } from '../text/describe-issue.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { createEmptyFixture, findFixture, findFixtureRoot, hashFixture } from './fixture.ts';
import { resolveCheckModels, resolveModel } from './script-models.ts';

const maxProblems = 5;

/** Throws `invalid_config` with one line for each problem. */
export function parseEvalFile(file: string, text: string): EvalFile {
  const document = parseJsonDocument(file, Buffer.from(text.replace(/^\ufeff/, '')));
  const parsed = EvalFile.safeParse(document.value);
  if (!parsed.success) {
    const problems = parsed.error.issues
      .slice(0, maxProblems)
      .map((issue) => document.problemAt(issue.path, describeFileIssue(issue, document.value)).message);
    throw new RetinueError('invalid_config', problems.join('\n'));
  }
  const seen = new Set<string>();
  for (const [index, { name, checks = [], expect }] of parsed.data.cases.entries()) {
    if (seen.has(name)) throw document.problemAt(['cases', index, 'name'], `two cases are named ${JSON.stringify(name)}`);
    if (checks.length === 0 && expect === undefined)
      throw document.problemAt(
        ['cases', index],
        `the case ${JSON.stringify(name)} has neither \`checks\` nor \`expect\`, so nothing decides it`,
      );
    seen.add(name);
  }
  return parsed.data;
}

function describeFileIssue(issue: z.core.$ZodIssue, file: unknown): string {
  const path = issue.path.join('.');
  const at = path === '' ? '' : `\`${path}\`: `;
  const known = issue.code === 'unrecognized_keys' ? listKeys(EvalFile, file, issue.path, issue.keys) : [];
  if (known.length > 0 && issue.code === 'unrecognized_keys') return `${at}${unknownNameMessage('key', issue.keys[0] as string, known)}`;
  return `${path === '' ? 'the file' : `\`${path}\``} ${describeIssue(issue, file)}`;
}

/** The keys that the schema has at this place of the value, where `unknown` are none. Empty if it has no object there. */
function listKeys(schema: unknown, value: unknown, path: PropertyKey[], unknown: string[]): string[] {
  if (schema instanceof z.ZodOptional) return listKeys(schema.unwrap(), value, path, unknown);
  if (schema instanceof z.ZodUnion)
    return schema.options.map((option) => listKeys(option, value, path, unknown)).find((keys) => keys.length > 0) ?? [];
  const [key, ...rest] = path;
  const child = key === undefined ? undefined : (value as Record<PropertyKey, unknown>)[key];
  if (schema instanceof z.ZodArray && key !== undefined) return listKeys(schema.element, child, rest, unknown);
  if (!(schema instanceof z.ZodObject)) return [];
  if (key !== undefined) return listKeys(schema.shape[String(key)], child, rest, unknown);
  const keys = Object.keys(schema.shape);
  // Otherwise another form of a union was meant.
  const isMeant = Object.keys(value as object).every((each) => keys.includes(each) || unknown.includes(each));
  return isMeant ? keys : [];
}

export interface EvalChoice {
  agents: string[];
  models: string[];
  repeats: number | undefined;
  concurrency: number;
}

export interface EvalContext {
  workspace: string;
  stateFolder: string;
  /** The limits of the user's configuration and command line. The file can only lower them. */
  limits: LimitsGiven;
  onNotice(line: string): void;
}

/** The input of the flow, without replay. `path`: the absolute path of the file. Rejects with `usage` if a fixture cannot be read. */
export async function createEvalInput(
  { path, shown, definition }: { path: string; shown: string; definition: EvalFile },
  choice: EvalChoice,
  { workspace, stateFolder, limits, onNotice }: EvalContext,
): Promise<EvalInput> {
  const { repeats = 1 } = definition;
  const { cases, raised } = keepLowerLimits(definition, { ...defaultLimits, ...limits } as Limits);
  for (const [name, { asked, limit }] of raised)
    onNotice(`\`limits.${name}\` in ${shown} is ignored: ${asked} is more than ${limit}; raise it in your own configuration`);
  const root = await findFixtureRoot(path, workspace);
  const agents = choice.agents.length > 0 ? choice.agents : (definition.agents ?? [null]);
  const folders = { folder: dirname(path), workspace };
  const own = definition.models?.map((model) => resolveModel(model, folders));
  const models = choice.models.length > 0 ? choice.models : (own ?? [null]);
  const variants = agents.flatMap((agent) => models.map((model): Variant => ({ agent, model })));
  const hashes = new Map<string, string>();
  const prepared: EvalCase[] = [];
  for (const each of cases) {
    const fixture =
      each.fixture === undefined ? await createEmptyFixture(stateFolder) : await findFixture(resolve(dirname(path), each.fixture), root);
    const files = hashes.get(fixture) ?? (await hashFixture(fixture));
    hashes.set(fixture, files);
    const whole = { ...each, fixture };
    const checks = each.checks && { checks: resolveCheckModels(each.checks, folders) };
    prepared.push({ ...whole, ...checks, subject: hashSubject(whole, files) });
  }
  return {
    name: definition.name ?? basename(path).replace(/\.json$/, ''),
    file: shown,
    cases: prepared,
    variants,
    repeats: choice.repeats ?? repeats,
    concurrency: choice.concurrency,
  };
}

/** The cases with the limits that apply to them, without those that are higher than `own`. `raised`: what was left out, once for each name. */
function keepLowerLimits({ cases, limits: shared }: EvalFile, own: Limits) {
  const raised = new Map<string, { asked: number; limit: number }>();
  const kept = cases.map(({ limits = shared, ...each }) => {
    if (limits === undefined) return each;
    const entries = Object.entries(limits) as [LimitName, number][];
    for (const [name, asked] of entries)
      if (asked > Math.max(own[name], raised.get(name)?.asked ?? 0)) raised.set(name, { asked, limit: own[name] });
    return { ...each, limits: Object.fromEntries(entries.filter(([name, asked]) => asked <= own[name])) as LimitsGiven };
  });
  return { cases: kept, raised };
}

/** Of everything that the work depends on. The path of the fixture does not count. */
function hashSubject(each: Omit<EvalCase, 'subject'>, files: string): string {
  const { checks: _checks, expect: _expect, fixture: _fixture, maxCheckRounds: _rounds, ...brief } = each;
  return sha256(canonical({ brief, files }));
}
