// The token file: one token per line, with its role and a name.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { RetinueError } from '../contract/error.ts';
import { Role } from '../contract/http.ts';
import { sha256 } from '../text/canonical.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import type { Token } from './tokens.ts';

const minLength = 32;
const maxNameChars = 100;
const maxFileBytes = 1_048_576;

/** Rejects with `usage` if the file cannot be used, or if other users can read it. */
export async function readTokenFile(path: string): Promise<Token[]> {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? `it does not exist; a line of it is \`${lineForm}\`` : error.message;
    throw new RetinueError('usage', `the token file ${path} cannot be read: ${reason}`);
  });
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new RetinueError('usage', `the token file ${path} is not a regular file; name the file itself`);
    const { mode, size } = stat;
    if ((mode & 0o077) !== 0)
      throw new RetinueError('usage', `other users can read or change the token file ${path}; run \`chmod 600 ${path}\` first`);
    if (size > maxFileBytes) throw new RetinueError('usage', `the token file ${path} is larger than ${maxFileBytes} bytes`);
    return parseTokens(await file.readFile('utf8'), path);
  } finally {
    await file.close();
  }
}

/** What a line may say: a role, or `mcp` for a token that is only for MCP and may start runs there. */
const roleWords = [...Role.options, 'mcp'] as const;
const lineForm = `TOKEN [${roleWords.join('|')} [NAME]]`;

/** Lines are `TOKEN [ROLE [NAME]]`; `#` begins a comment. Without a role a token may do everything. */
export function parseTokens(text: string, path: string): Token[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  const tokens = lines.flatMap((line, i): Token[] => {
    const [value, word = 'start', ...name] = line
      .replace(/(^|\s)#.*$/, '')
      .trim()
      .split(/\s+/);
    if (!value) return [];
    const where = `${path}, line ${i + 1}`;
    if (value.length < minLength)
      throw new RetinueError('usage', `${where}: a token has at least ${minLength} characters; make one with \`openssl rand -hex 32\``);
    if (!/^[\x21-\x7e]+$/.test(value))
      throw new RetinueError('usage', `${where}: a token has only letters, digits and signs of ASCII, because it travels in a header`);
    const role = roleWords.find((each) => each === word);
    if (role === undefined) throw new RetinueError('usage', `${where}: ${unknownNameMessage('role', word, roleWords)}`);
    if (name.join(' ').length > maxNameChars) throw new RetinueError('usage', `${where}: a name has at most ${maxNameChars} characters`);
    // The name decides whose runs an MCP client sees, so it belongs to the token and not to its line.
    const named = { value, name: name.join(' ') || `token ${sha256(value).slice(0, 12)}` };
    return [role === 'mcp' ? { ...named, role: 'start', isMcpOnly: true } : { ...named, role }];
  });
  if (tokens.length === 0) throw new RetinueError('usage', `the token file ${path} has no token; a line is \`${lineForm}\``);
  const seen = new Set<string>();
  for (const { value, name } of tokens) {
    if (seen.has(value)) throw new RetinueError('usage', `${path}: the token of \`${name}\` is there twice`);
    seen.add(value);
  }
  return tokens;
}
