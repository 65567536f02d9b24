// A tree with a run in each of the states that a screen shows.
import type { ScreenWorldOptions } from './support.ts';

const diff = `--- src/date.ts
+++ src/date.ts
@@ -1,3 +1,3 @@
 export function formatDate(date: Date): string {
-  return date.toLocaleDateString();
+  return date.toISOString().slice(0, 10);
 }
`;

const changelog = '# Changelog\n\n## 1.2.0\n\n- Dates are written as in ISO 8601.\n- The parser reports line numbers.\n';

const child = (label: string, task: string) => ({ task, label, agent: 'any' });
const tasks = [
  child('check the licences', 'Check the licences of all dependencies.'),
  child('fix the date format', 'Write dates as in ISO 8601.'),
  child('update the changelog', 'Write CHANGELOG.md.'),
  child('clean up', 'Remove old build output.'),
  child('map the parser modules and all of their callers', 'Find the modules of the parser and who calls them.'),
  child('collect what is left to do', 'Look for TODO comments.'),
  child('survey the documentation', 'Survey the documentation.'),
  child('survey the examples', 'Survey the examples.'),
];

/** The numbers of tokens are fixed: estimated ones would change with every prompt. */
function step(text: string, call?: object): object {
  return { ...(text !== '' && { text }), ...(call && { calls: [call] }), usage: { input: 1_100, output: 60 } };
}

/** Two children at a time. Those that have ended or wait for approval make room for the next ones, and the last two stay in the queue. */
export const release: ScreenWorldOptions = {
  limits: { maxConcurrent: 2 },
  rules: ['ask write:CHANGELOG.md', 'deny bash:rm *'],
  outputs: { edit: { output: `changed src/date.ts (1 replacement)\n${diff}`, diff }, read: { error: 'src/parser.ts does not exist' } },
  script: {
    model: { price: { input: 3, output: 15 } },
    runs: [
      {
        when: { label: 'map the parser modules and all of their callers' },
        steps: [
          {
            reasoning: 'The parser may be anywhere.',
            text: 'The parser has three modules: the first one reads tokens, the second one builds the tree.',
            hang: 'middle',
            chunkSize: 12,
            delayMs: 500,
          },
        ],
      },
      {
        when: { label: 'fix the date format' },
        steps: [
          step('I read the parser first.', { tool: 'read', args: { path: 'src/parser.ts' } }),
          step('', { tool: 'edit', args: { path: 'src/date.ts', old: 'toLocaleDateString()', new: 'toISOString().slice(0, 10)' } }),
          step('Dates are written as in ISO 8601 now.'),
        ],
      },
      {
        when: { label: 'update the changelog' },
        steps: [step('', { tool: 'write', args: { path: 'CHANGELOG.md', content: changelog } }), step('Written.')],
      },
      { when: { label: 'collect what is left to do' }, steps: [step('', { tool: 'grep', args: { pattern: 'TODO|FIXME', path: 'src' } })] },
      { when: { label: 'check the licences' }, steps: [{ error: { status: 400, message: 'the model does not exist' } }] },
      {
        when: { label: 'clean up' },
        steps: ['rm -rf dist', 'npm run clean -- --all'].map((command) => step('', { tool: 'bash', args: { command } })),
      },
      { when: { label: 'survey the documentation' }, times: 'any', steps: [step('Three pages.')] },
      { when: { label: 'survey the examples' }, times: 'any', steps: [step('Two examples.')] },
      { steps: [step('I split this into parts.', { tool: 'delegate', args: { tasks } }), step('All parts are done.')] },
    ],
  },
};
