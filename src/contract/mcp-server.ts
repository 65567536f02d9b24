import { z } from 'zod';

const maxSeconds = 86_400;

/**
 * The name of a server, as it stands in the names of its tools (`mcp__github__get_issue`). Without `__` and without `_` at its end: a rule
 * about `mcp__git__*` must never be about a tool of another server.
 */
export const McpServerName = z
  .string()
  .regex(
    /^(?!.*__)[a-z0-9](?:[a-z0-9_-]{0,30}[a-z0-9-])?$/,
    'must be the name of a server: up to 32 lower-case letters, digits, - and single _, beginning with a letter or a digit',
  );

const text = z.string('must be a string').max(65_536);
const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, 'must be the name of a variable, such as GITHUB_TOKEN; never its value');
const header = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, 'must be the name of a header');
const seconds = z.number('must be a number of seconds').positive('must be a number of seconds above 0').max(maxSeconds);

const local = ['args', 'env', 'envFrom', 'cwd'] as const;
const remote = ['headers', 'headersFrom'] as const;

/**
 * How an MCP server is reached: a command that speaks over its standard input and output, or an address. `${NAME}` and `${NAME:-else}` in
 * `args`, `env`, `url` and `headers` stand for variables.
 */
export const McpServer = z
  .strictObject({
    type: z.enum(['stdio', 'http', 'sse']).optional(),
    command: text.min(1).optional(),
    args: z.array(text, 'must be a list of strings').max(1000).optional(),
    env: z.record(variable, text).optional(),
    /** Names of variables that the server gets as they are. */
    envFrom: z.array(variable, 'must be a list of names of variables').max(200).optional(),
    /** Relative to the workspace. */
    cwd: text.min(1).optional(),
    url: z.string('must be a string').max(8192).optional(),
    headers: z.record(header, text).optional(),
    /** Headers whose values are those of variables. */
    headersFrom: z.record(header, variable).optional(),
    /** The longest that one call may take, in seconds; never more than the limit `toolTimeoutMs`. */
    timeout: seconds.optional(),
    /** The longest that starting and asking for its tools may take, in seconds. */
    startupTimeout: seconds.optional(),
  })
  .superRefine((server, context) => {
    const wrong = (message: string, path: string[] = []) => context.addIssue({ code: 'custom', message, path });
    const { type, command, url } = server;
    if ((command === undefined) === (url === undefined)) return wrong('must have either a `command` or a `url`');
    if (command !== undefined && type !== undefined && type !== 'stdio') wrong('must be `stdio` for a `command`', ['type']);
    if (url !== undefined && type === 'stdio') wrong('must be `http` or `sse` for a `url`', ['type']);
    const [kind, others] = command === undefined ? ['url', local] : ['command', remote];
    for (const key of others) if (server[key as 'args'] !== undefined) wrong(`must not stand beside \`${kind}\``, [key]);
    if (url !== undefined && !isAddress(url)) wrong('must be an http or https address', ['url']);
  });
export type McpServer = z.infer<typeof McpServer>;

/** Variables in it are put in later; what stands around them must already be an address. */
function isAddress(url: string): boolean {
  return /^https?:$/.test(URL.parse(url.replace(/\$\{[^}]*\}/g, 'x'))?.protocol ?? '') || url.startsWith('${');
}
