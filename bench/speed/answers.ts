// What the model of the benchmark answers, in the format of Chat Completions. Answers are made once; of a request only the number of its tool results counts.
//
// A request whose task says `children: N` delegates to N children. Every other one makes three calls of `echo`, one per turn, and ends; its task may name
// another tool (`tool: list`) or number of turns (`turns: 0`).

const defaultTurns = 3;
const tasksPerCall = 16;
const usage = { prompt_tokens: 400, completion_tokens: 20, total_tokens: 420 };

export interface Answer {
  streamed: Buffer;
  whole: Buffer;
}

interface Call {
  name: string;
  args: object;
}

const answers = new Map<string, Answer>();

/** `body`: the JSON of the request. */
export function findAnswer(body: string): Answer {
  const results = body.split('"role":"tool"').length - 1;
  const children = Number(/children: (\d+)/.exec(body)?.[1] ?? 0);
  const turns = Number(/turns: (\d+)/.exec(body)?.[1] ?? defaultTurns);
  const tool = /tool: (\w+)/.exec(body)?.[1] ?? 'echo';
  const isOver = children > 0 ? results > 0 : results >= turns;
  const key = isOver ? 'end' : `${children} ${tool} ${results}`;
  const known = answers.get(key);
  if (known) return known;
  const calls = children > 0 ? delegate(children) : [callTool(tool, results)];
  const made = isOver ? createAnswer('The work is done.', []) : createAnswer('', calls);
  answers.set(key, made);
  return made;
}

export function isStreamed(body: string): boolean {
  return body.includes('"stream":true');
}

function callTool(name: string, n: number): Call {
  return { name, args: name === 'echo' ? { n } : { path: '.' } };
}

function delegate(children: number): Call[] {
  const tasks = Array.from({ length: children }, (_, n) => ({ task: `child ${n} tool: list`, agent: 'explore' }));
  return Array.from({ length: Math.ceil(children / tasksPerCall) }, (_, at) => ({
    name: 'delegate',
    args: { tasks: tasks.slice(at * tasksPerCall, (at + 1) * tasksPerCall) },
  }));
}

function createAnswer(text: string, calls: Call[]): Answer {
  const envelope = { id: 'chatcmpl-1', created: 1_750_000_000, model: 'x' };
  const finish = calls.length > 0 ? 'tool_calls' : 'stop';
  const chunk = (delta: object, reason: string | null = null) => ({
    ...envelope,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const wireCall = (name: string, index: number, args: string) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: args },
  });
  const events = [
    chunk({ role: 'assistant', content: '' }),
    ...(text === '' ? [] : [chunk({ content: text })]),
    ...calls.flatMap(({ name, args }, index) => [
      chunk({ tool_calls: [{ index, ...wireCall(name, index, '') }] }),
      chunk({ tool_calls: [{ index, function: { arguments: JSON.stringify(args) } }] }),
    ]),
    chunk({}, finish),
    { ...envelope, object: 'chat.completion.chunk', choices: [], usage },
  ];
  const message = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(calls.length > 0 && { tool_calls: calls.map(({ name, args }, index) => wireCall(name, index, JSON.stringify(args))) }),
  };
  const whole = { ...envelope, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage };
  return {
    streamed: Buffer.from(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`),
    whole: Buffer.from(JSON.stringify(whole)),
  };
}
