import { RetinueError } from '../../contract/error.ts';
import type { Memories, Memory } from '../../ports/notes.ts';
import { clean, cleanLine } from '../clean.ts';
import { Unopened } from '../errors.ts';
import type { Args } from '../flags.ts';
import { paint } from '../format.ts';
import type { Io } from '../io.ts';
import { printJson } from '../json.ts';
import { groundFlags, settle } from '../session.ts';

const maxTitle = 200;
const maxTextBytes = 65_536;
const usage = 'usage: retinue memory add TITLE TEXT… | list [WORDS…] | rm TITLE';

export async function run(args: Args, io: Io): Promise<number> {
  const work = await workOf(args, io);
  const settings = await settle(io, { flags: groundFlags(args) });
  const memories = await io.memories(settings, { drive: args.words[0] === 'add' }).catch((error: unknown) => {
    throw new Unopened(error);
  });
  try {
    return await work(memories, settings.workspace);
  } finally {
    await memories.close();
  }
}

type Work = (memories: Memories, workspace: string) => Promise<number>;

/** Reads the words before anything is opened. */
async function workOf(args: Args, io: Io): Promise<Work> {
  const [verb, ...words] = args.words;
  const json = args.has('json');
  switch (verb) {
    case 'add': {
      const memory = await memoryOf(words, io);
      return (memories, workspace) => add(memories, workspace, { memory, io, json });
    }
    case 'list':
      return async (memories, workspace) => {
        const found = await memories.list(workspace, words.length === 0 ? undefined : words.join(' '));
        if (json) printJson(io, found.map(shape));
        else if (found.length === 0) io.err(words.length === 0 ? 'no memories yet\n' : 'no memory has all these words\n');
        else io.out(found.map((memory) => text(memory, io)).join(''));
        return 0;
      };
    case 'rm': {
      const title = titleOf(words.join(' '));
      return async (memories, workspace) => {
        const removed = await memories.remove(workspace, title);
        if (json) printJson(io, { title, removed });
        else if (removed) io.out(`forgot ${cleanLine(title)}\n`);
        if (!removed) io.err(`retinue: no memory has the title \`${cleanLine(title)}\`; \`retinue memory list\` shows them\n`);
        return removed ? 0 : 1;
      };
    }
    default:
      throw new RetinueError('usage', `\`${verb}\` is none of add, list and rm; ${usage}; for a task: retinue run "memory ${verb} …"`);
  }
}

async function add(
  memories: Memories,
  workspace: string,
  { memory, io, json }: { memory: Memory; io: Io; json: boolean },
): Promise<number> {
  await memories.put(workspace, memory);
  if (json) printJson(io, shape(memory));
  else io.out(`remembered ${cleanLine(memory.title)}\n`);
  return 0;
}

async function memoryOf([title = '', ...words]: string[], io: Io): Promise<Memory> {
  const more = words.includes('-') ? (await io.readStdin()).trimEnd() : '';
  const given = [words.filter((word) => word !== '-').join(' '), more].filter((part) => part.trim() !== '').join('\n\n');
  const named = titleOf(title);
  if (given === '') throw new RetinueError('usage', `the text is missing; ${usage}`);
  if (Buffer.byteLength(given) > maxTextBytes) throw new RetinueError('usage', `a memory has at most ${maxTextBytes} bytes of text`);
  return { title: named, text: given.toWellFormed(), at: new Date(io.now()).toISOString() };
}

function titleOf(text: string): string {
  const title = text.toWellFormed().trim();
  if (title === '') throw new RetinueError('usage', `the title is missing; ${usage}`);
  if (title.length > maxTitle || /[\r\n]/.test(title))
    throw new RetinueError('usage', `a title is one line of at most ${maxTitle} characters`);
  return title;
}

function shape({ title, text: body, at }: Memory): Memory {
  return { title, text: body, at };
}

function text({ title, text: body, at }: Memory, io: Io): string {
  const head = `${paint(io.colour.out, 'bold', cleanLine(title))}  ${paint(io.colour.out, 'dim', at.slice(0, 16).replace('T', ' '))}`;
  const lines = clean(body)
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`.trimEnd());
  return `${[head, ...lines].join('\n')}\n`;
}
