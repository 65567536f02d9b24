import { RetinueError } from '../../contract/error.ts';
import type { Memories, Memory } from '../../ports/notes.ts';
import { createWordFilter } from '../../stores/notes-memory.ts';
import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { paint } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, jsonFlag, serverFlags, unlimited, writingFlags } from '../command.ts';
import { DatabaseOpenError } from '../errors.ts';
import type { Io, ServerChoice } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { loadSettings, warnAboutDatabase } from '../session/open-api.ts';
import { chooseServer } from '../session/server.ts';

export const memoryCommand: Command = {
  name: 'memory',
  group: 'setup',
  usage: 'add TITLE TEXT… | list [WORDS…] | rm TITLE [flags]',
  summary: 'store notes for the agents of this workspace',
  about:
    'A note has a title and a text; adding the same title again replaces the text. A `-` adds standard input to the text. `list` shows the notes that contain all the words, newest first. Agents with the tool `memory` can read and write notes; the built-in agents do not have it.',
  flags: [jsonFlag, ...writingFlags, ...serverFlags],
  positionals: { min: 1, max: unlimited },
  examples: [
    ['retinue memory add "test database" "start it with make db"', 'stores a note'],
    ['retinue memory list database', 'notes that contain `database`'],
    ['retinue memory rm "test database"', 'removes the note'],
  ],
  exitCodes: 'command',
  changes: ({ positionals: [verb] }) => verb === 'add' || verb === 'rm',
  run,
};

const maxTitle = 200;
const maxTextBytes = 65_536;
const usage = 'usage: retinue memory add TITLE TEXT… | list [WORDS…] | rm TITLE';

type MemoryAction = (memories: Memories, workspace: string) => Promise<number>;

async function run(args: Args, io: Io): Promise<number> {
  const action = await parseAction(args, io);
  const [verb] = args.positionals;
  const server = chooseServer(io, commonSettings(args));
  if (server !== null) return action(await serverMemories(io, server, verb), '');
  const settings = await loadSettings(io, { flags: commonSettings(args) });
  const access = verb === 'add' ? 'create' : verb === 'rm' ? 'write' : 'read';
  const warn = (message: string) => warnAboutDatabase(io, message);
  const memories = await io.memories(settings, { access, warn }).catch((error: unknown) => {
    throw new DatabaseOpenError(error);
  });
  try {
    return await action(memories, settings.workspace);
  } finally {
    await memories.close();
  }
}

/** The notes of a server's workspace, which can only be read from here. */
async function serverMemories(io: Io, server: ServerChoice, verb: string | undefined): Promise<Memories> {
  if (verb !== 'list')
    throw new RetinueError(
      'usage',
      `\`memory ${verb}\` works only on the machine of the workspace; \`memory list\` shows the notes of a server`,
    );
  const client = await io.connect(server);
  const refuse = async () =>
    Promise.reject(new RetinueError('usage', 'the notes of a server can only be read; change them on its machine'));
  return {
    list: async (_, words) => (await client.memories()).filter(createWordFilter(words)),
    put: refuse,
    remove: refuse,
  };
}

/** Checks the arguments before anything is opened. */
async function parseAction(args: Args, io: Io): Promise<MemoryAction> {
  const [verb, ...words] = args.positionals;
  const json = args.has('json');
  switch (verb) {
    case 'add': {
      const memory = await parseMemory(words, io);
      return async (memories, workspace) => {
        await memories.put(workspace, memory);
        if (json) printJson(io, memoryToJson(memory));
        else io.out(`stored ${sanitizeLine(memory.title)}\n`);
        return 0;
      };
    }
    case 'list':
      return async (memories, workspace) => {
        const found = await memories.list(workspace, words.length === 0 ? undefined : words.join(' '));
        if (json) printJson(io, found.map(memoryToJson));
        else if (found.length === 0) io.err(words.length === 0 ? 'no notes yet\n' : 'no note contains all these words\n');
        else io.out(found.map((memory) => describeMemory(memory, io)).join(''));
        return 0;
      };
    case 'rm': {
      const title = parseTitle(words.join(' '));
      return async (memories, workspace) => {
        const removed = await memories.remove(workspace, title);
        if (json) printJson(io, { title, removed });
        else if (removed) io.out(`removed ${sanitizeLine(title)}\n`);
        if (!removed) io.err(`retinue: there is no note \`${sanitizeLine(title)}\`; \`retinue memory list\` shows all\n`);
        return removed ? 0 : 1;
      };
    }
    default:
      throw new RetinueError('usage', `unexpected argument \`${verb}\`; ${usage}; to run it as a task: retinue run "memory ${verb} …"`);
  }
}

async function parseMemory([title = '', ...words]: string[], io: Io): Promise<Memory> {
  const input = words.includes('-') ? (await io.readStdin()).trimEnd() : '';
  const text = [words.filter((word) => word !== '-').join(' '), input].filter((part) => part.trim() !== '').join('\n\n');
  const checkedTitle = parseTitle(title);
  if (text === '') throw new RetinueError('usage', `the text is missing; ${usage}`);
  if (Buffer.byteLength(text) > maxTextBytes)
    throw new RetinueError(
      'usage',
      `the text of a note has at most ${maxTextBytes} bytes; shorten it, or write it to a file and note the path`,
    );
  return { title: checkedTitle, text: text.toWellFormed(), at: new Date(io.now()).toISOString() };
}

function parseTitle(text: string): string {
  const title = text.toWellFormed().trim();
  if (title === '') throw new RetinueError('usage', `the title is missing; ${usage}`);
  if (title.length > maxTitle || /[\r\n]/.test(title))
    throw new RetinueError('usage', `a title is one line of at most ${maxTitle} characters`);
  return title;
}

/** Fixes the order of keys. */
function memoryToJson({ title, text, at }: Memory): Memory {
  return { title, text, at };
}

function describeMemory({ title, text, at }: Memory, io: Io): string {
  const head = `${paint(io.colour.out, 'bold', sanitizeLine(title))}  ${paint(io.colour.out, 'dim', at.slice(0, 16).replace('T', ' '))}`;
  const lines = sanitizeText(text)
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`.trimEnd());
  return `${[head, ...lines].join('\n')}\n`;
}
