// The flow that is killed: steps of both kinds, a question, a sleep, and two children. One of them has more to say than fits into its window, so its
// old results are removed and its conversation is compacted; the other one is cut off, nudged and checked.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FactOf, StoredFact } from '../../src/contract/fact.ts';
import type { ProviderStep } from '../../src/testing/provider-server.ts';
import type { Heard } from './tree.ts';

export const flowFile = './plan.ts';
export const flowRuns = 3;
/** Tokens. Room is made at 15,000; the beginning has 2,400, the file 7,100, and each long text 3,700. */
const contextWindow = 20_000;
const longText = (words: string) => `${words} `.repeat(500);

const program = `
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineFlow, StepUnknown } from 'retinue/flow';

export default defineFlow<string, unknown>('plan', { type: 'string' }, async (flow, name) => {
  const effect = (step: string) => () => appendFileSync(join(flow.workspace, 'effects', \`\${name}-\${step}\`), \`\${Date.now()}\\n\`);
  const once = (step: string) =>
    flow.step(step, effect(step)).then(
      () => 'ok',
      (error: unknown) => {
        if (error instanceof StepUnknown) return 'unknown';
        throw error;
      },
    );
  const task = (child: string) => \`Torture \${name}/\${child}\`;
  const checks = [{ command: \`date +%s%3N >> effects/\${name}-check\` }];
  flow.log('begin');
  await flow.step('again', effect('again'), { idempotent: true });
  const [long, first] = await flow.all([flow.delegate({ task: task('long'), label: 'long' }), once('once')]);
  const { approved } = await flow.ask('Go on?', { timeoutMs: 600_000 });
  await flow.sleep(20);
  const checked = await flow.delegate({ task: task('checked'), label: 'checked', checks });
  return { approved, first, last: await once('last'), long: long.status, checked: checked.status };
});
`;

/** What the flow needs in the folder of a place. */
export function writeFlow(folder: string): void {
  writeFileSync(join(folder, flowFile), program);
  writeFileSync(join(folder, 'big.txt'), longText('A line that nobody needs twice.\n'));
  const config = join(folder, '.config', 'retinue');
  mkdirSync(config, { recursive: true });
  const compaction = { models: { 'openai-compatible/torture': { contextWindow } } };
  writeFileSync(join(config, 'config.json'), JSON.stringify({ compaction }));
}

/** The answers of the models of the children; null for other runs. */
export function flowStepFor({ task, answers, isCompaction }: Omit<Heard, 'at'>): ProviderStep | null {
  const [place = '', name = ''] = task.replace('Torture ', '').split('/');
  if (name === 'checked') return answers === 0 ? { text: 'This sentence is cut', finish: 'length' } : { text: 'checked is done.' };
  if (name !== 'long') return null;
  if (isCompaction) return { text: '# Goal\nas before' };
  const effect = { tool: 'bash', args: { command: `date +%s%3N >> effects/${place}-long-${answers}` } };
  if (answers === 0) return { calls: [effect, { tool: 'read', args: { path: 'big.txt' } }] };
  const list = { tool: 'list', args: { path: answers === 1 ? 'notes' : 'effects' } };
  if (answers < 5) return { text: longText(`I think about part ${answers}.`), calls: [answers % 2 === 0 ? effect : list] };
  return { text: 'long is done.' };
}

/** A step with a result took effect, and took effect once unless it is idempotent. All that the tree is for has taken place, unless orders prevented it. */
export function flowFaults(
  facts: StoredFact[],
  effects: Map<string, number[]>,
  { cancelled, hasOrderedCompaction }: { cancelled: Map<string, boolean>; hasOrderedCompaction: boolean },
): string[] {
  const isOf = <T extends StoredFact['type']>(type: T) => facts.filter((fact) => fact.type === type) as unknown as FactOf<T>[];
  const root = isOf('run.created').find(({ data }) => data.kind === 'flow');
  const place = root?.data.flow?.input;
  const faults = isOf('step.started').flatMap(({ data: { step, name, kind, idempotent } }) => {
    const results = isOf('step.finished').filter(({ data }) => data.step === step);
    const times = effects.get(`${place}-${name}`)?.length ?? 0;
    const isOk = results.some(({ data }) => data.status === 'ok');
    return [
      ...(results.length > 1 ? [`step ${name} has ${results.length} results`] : []),
      ...(kind === 'step' && isOk && times === 0 ? [`step ${name} has a result and did not take place`] : []),
      ...(kind === 'step' && !idempotent && times > 1 ? [`step ${name} took place ${times} times`] : []),
    ];
  });
  const steps = isOf('step.started').map(({ data }) => data.step);
  if (new Set(steps).size !== steps.length) faults.push('a step was started twice');
  if (isOf('flow.returned').length !== 1) faults.push(`the program returned ${isOf('flow.returned').length} times`);
  // A compaction that was ordered leaves nothing to prune.
  const usual = ['context.compacted', 'model.nudged', 'check.finished', ...(hasOrderedCompaction ? [] : ['context.pruned'])];
  const wanted = cancelled.size === 0 ? usual : [];
  for (const type of wanted) if (!facts.some((fact) => fact.type === type)) faults.push(`there is no ${type}`);
  return faults;
}
