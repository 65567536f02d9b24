import { z } from 'zod';

const maxSeconds = 86_400;

/**
 * The name of a server, which is part of its tools' names (`mcp__github__get_issue`). It may neither contain `__` nor end in `_`, so that a
 * rule for `mcp__git__*` never matches a tool of another server.
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

/** Keys that only make sense with `command`, and those that only make sense with `url`. */
const localKeys = ['args', 'env', 'envFrom', 'cwd'] as const;
const remoteKeys = ['headers', 'headersFrom'] as const;

/**
 * How to reach an MCP server: a command that speaks MCP over standard input and output, or a URL. `${NAME}` and `${NAME:-default}` in `args`,
 * `env`, `url` and `headers` are replaced by environment variables.
 */
export const McpServer = z
  .strictObject({
    type: z.enum(['stdio', 'http', 'sse']).optional(),
    command: text.min(1).optional(),
    args: z.array(text, 'must be a list of strings').max(1000).optional(),
    env: z.record(variable, text).optional(),
    /** Names of environment variables to pass on. */
    envFrom: z.array(variable, 'must be a list of variable names').max(200).optional(),
    /** Relative to the workspace. */
    cwd: text.min(1).optional(),
    url: z.string('must be a string').max(8192).optional(),
    headers: z.record(header, text).optional(),
    /** Headers whose values come from environment variables. */
    headersFrom: z.record(header, variable).optional(),
    /** Timeout of a call in seconds. The limit `toolTimeoutMs` also applies. */
    timeout: seconds.optional(),
    /** Timeout in seconds for starting the server and listing its tools. */
    startupTimeout: seconds.optional(),
  })
  .superRefine((server, context) => {
    const addIssue = (message: string, path: string[] = []) => context.addIssue({ code: 'custom', message, path });
    const { type, command, url } = server;
    if ((command === undefined) === (url === undefined)) return addIssue('must have either a `command` or a `url`');
    if (command !== undefined && type !== undefined && type !== 'stdio') addIssue('must be `stdio` for a `command`', ['type']);
    if (url !== undefined && type === 'stdio') addIssue('must be `http` or `sse` for a `url`', ['type']);
    const [kind, excluded] = command === undefined ? ['url', localKeys] : ['command', remoteKeys];
    for (const key of excluded) if (server[key as 'args'] !== undefined) addIssue(`must not be combined with \`${kind}\``, [key]);
    if (url !== undefined && !isHttpUrl(url)) addIssue('must be an http or https address', ['url']);
  });
export type McpServer = z.infer<typeof McpServer>;

/** Variables are replaced later; the rest must already look like a URL, unless the URL begins with a variable. */
function isHttpUrl(url: string): boolean {
  return /^https?:$/.test(URL.parse(url.replace(/\$\{[^}]*\}/g, 'x'))?.protocol ?? '') || url.startsWith('${');
}
