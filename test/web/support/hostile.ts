// Text that tries to become code, a link or a request in a page, and a tree that has it in every field that the dashboard shows.
import type { DashboardOptions } from './dashboard.ts';
import { delegate, playTasks } from './play-tasks.ts';

const code = 'window.wasRun=1';
const outside = 'https://outside.invalid/p';

export const corpus = [
  `<script>${code}</script>`,
  `"><img src=x onerror="${code}">`,
  `'><svg onload='${code}'><script>${code}</script></svg>`,
  `</script><script>${code}</script>`,
  `<a href="javascript:${code}">a</a>`,
  `[a](javascript:${code}) [b](JaVaScRiPt&colon;${code}) [c](data:text/html,<script>${code}</script>)`,
  `![i](${outside}.png) [l](${outside}) <${outside}>`,
  `<style>*{background:url(${outside}.css)}</style><link rel=stylesheet href=${outside}.css>`,
  `" style="background:url(${outside}.png)" onfocus="${code}" autofocus x="`,
  `<iframe srcdoc="<script>parent.${code}</script>"></iframe><object data=${outside}></object>`,
  `<meta http-equiv=refresh content="0;url=${outside}"><base href=${outside}>`,
  `<form action=${outside}><button autofocus onfocus="${code}">b</button></form>`,
  `\${${code}} {{${code}}} {{constructor.constructor('${code}')()}}`,
  '\u202egpj.exe\u202c \u2066a\u2069 \u200b\ufeff\u{e0041} \x1b[31mred\x1b]8;;https://outside.invalid\x07',
];

/** The field's name, then the whole corpus. */
export const hostile = (field: string) => `${field}: ${corpus.join(' ')}`;
/** For a field with a short limit. */
export const hostileShort = (field: string, index: number) => `${field}: ${corpus[index]}`.slice(0, 200);
/** Part of a file name: no slash, and short. */
const fileName = `<img src=x onerror=${code}>.txt`;

/** A name of a folder. */
export const hostileFolder = `<img src=x onerror=${code}>`;

const labels = corpus.map((_, index) => hostileShort('label', index));

/** `streams`: when this resolves, the run `streams` begins to write and never ends. */
export const createHostile = (streams: Promise<void>): DashboardOptions => ({
  args: ['--everywhere'],
  config: { rules: ['ask bash', `ask bash:*<img src=x onerror=${code}>*`], limits: { maxConcurrent: 30 } },
  files: {
    [fileName]: `${hostile('file')}\n`,
    '.claude/agents/own.md': `---\nname: own\ndescription: ${JSON.stringify(hostile('agent'))}\ntools: Read\n---\n${hostile('prompt')}\n`,
  },
  answer: playTasks({
    'task-root': [
      {
        reasoning: hostile('reasoning'),
        text: hostile('root text'),
        calls: [
          ...(delegate(...labels.map((label) => ({ task: `task-short ${label}`, label, agent: 'explore' }))).calls ?? []),
          ...(delegate(
            { task: `task-tools ${hostile('task')}`, context: hostile('context'), label: 'tools' },
            { task: `task-asks ${hostile('task')}`, label: 'asks' },
            { task: `task-fails ${hostile('task')}`, label: 'fails' },
            { task: `task-streams ${hostile('task')}`, label: 'streams' },
          ).calls ?? []),
        ],
      },
    ],
    'task-short': [{ text: 'done' }],
    'task-tools': [
      {
        text: hostile('text'),
        reasoning: hostile('reasoning'),
        calls: [
          { tool: 'read', args: { path: fileName } },
          { tool: 'edit', args: { path: fileName, old: 'file:', new: hostile('diff') } },
          { tool: 'write', args: { path: `new ${fileName}`, content: hostile('content') } },
          { tool: 'grep', args: { pattern: hostile('argument') } },
          { tool: `x<img src=x onerror=${code}>`, args: { [hostile('key')]: hostile('value') } },
        ],
      },
      { text: hostile('summary') },
    ],
    'task-asks': [{ text: 'I ask.', calls: [{ tool: 'bash', args: { command: `echo '<img src=x onerror=${code}> question'` } }] }],
    'task-fails': [{ fault: { kind: 'status', status: 400, message: hostile('error') } }],
    'task-streams': [
      {
        ...{ reasoning: hostile('streamed reasoning').repeat(2), text: hostile('streamed').repeat(6), after: streams },
        ...{ chunkSize: 64, chunkDelayMs: 60, fault: { kind: 'stall', pings: true } as const },
      },
    ],
  }),
});
