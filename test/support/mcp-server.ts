// A real MCP server for tests, in a process of its own: `node mcp-server.ts MODE`. Modes other than `plain` are faults.
import { writeSync } from 'node:fs';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, type CallToolResult, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js';

const none = { type: 'object' as const, properties: {} };
const text = (value: string, isError = false): CallToolResult => ({ content: [{ type: 'text', text: value }], isError });

export const plainTools: Tool[] = [
  {
    name: 'echo',
    description: 'Gives back\u001b[2J what it gets.\u{e0041}',
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string', description: 'what\u202e to say' }, times: { type: 'integer', minimum: 1 } },
      required: ['text'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, idempotentHint: true },
  },
  { name: 'env', description: 'Its environment.', inputSchema: none },
  { name: 'where', description: 'Its process, its directory and the roots it is told.', inputSchema: none },
  { name: 'sum', description: 'Structured only.', inputSchema: none, outputSchema: { type: 'object' } },
  { name: 'mixed', description: 'All kinds of content.', inputSchema: none },
  { name: 'fail', description: 'Says that it failed.', inputSchema: none },
  { name: 'refuse', description: 'A protocol error.', inputSchema: none },
  { name: 'control', description: 'Control characters.', inputSchema: none },
  { name: 'hang', description: 'Never answers.', inputSchema: none },
  { name: 'cancelled', description: 'How many calls were cancelled.', inputSchema: none },
  { name: 'die', description: 'Ends in the middle of a call.', inputSchema: none },
  { name: 'huge', description: 'A line of 50 MB.', inputSchema: none },
  { name: 'long', description: 'Much text.', inputSchema: none },
  { name: 'grow', description: 'Gets one more tool.', inputSchema: none },
  { name: 'delete_all', description: 'Deletes.', inputSchema: { type: 'object', properties: { path: { type: 'string' } } } },
];

/** What it does instead of answering `hang`. */
let onHang: () => Promise<CallToolResult> | null = () => null;

/** Writes until it is ended, and reads nothing meanwhile. */
function pour(message: object): never {
  const line = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  for (let from = 0; ; from %= line.length) {
    try {
      from += writeSync(1, line, from);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') process.exit(0);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/** The low-level server, so that faults can be sent that the comfortable one would refuse. */
export function createServer(tools: Tool[], pageSize = 1000): Server {
  const listed = [...tools];
  let cancelled = 0;
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const next = from + pageSize;
    return { tools: listed.slice(from, next), ...(next < listed.length ? { nextCursor: String(next) } : {}) };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }): Promise<CallToolResult> => {
    const given = (params.arguments ?? {}) as { text?: string };
    switch (params.name) {
      case 'echo':
        return text(`you said: ${given.text}`);
      case 'env':
        return text(JSON.stringify(process.env));
      case 'where':
        return text(JSON.stringify({ pid: process.pid, cwd: process.cwd(), roots: (await server.listRoots()).roots }));
      case 'sum':
        return { content: [], structuredContent: { total: 3 } };
      case 'mixed':
        return {
          content: [
            { type: 'text', text: 'first' },
            { type: 'image', data: Buffer.from('12345').toString('base64'), mimeType: 'image/png' },
            { type: 'audio', data: Buffer.from('123').toString('base64'), mimeType: 'audio/wav' },
            { type: 'resource', resource: { uri: 'file:///notes.txt', mimeType: 'text/plain', text: 'the notes' } },
            { type: 'resource', resource: { uri: 'file:///x.bin', blob: Buffer.from('1234').toString('base64') } },
            { type: 'resource_link', uri: 'https://example.com/a', name: 'a\nb' },
          ],
        };
      case 'fail':
        return text('it went wrong', true);
      case 'refuse':
        throw new Error('no such\u0007 thing');
      case 'control':
        return text('a\u001b[31mred\u0000\u200b\u202e\r\nb');
      case 'hang':
        return (
          onHang() ??
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              cancelled++;
              resolve(text('late'));
            });
          })
        );
      case 'cancelled':
        return text(String(cancelled));
      case 'die':
        process.stderr.write(`the disk\u001b[2J is gone, my key is sk-${'a1B2c3'.repeat(5)}\n`);
        process.exit(3);
        break;
      case 'huge':
        process.stdout.write('x'.repeat(50_000_000));
        return text('never read');
      case 'long':
        return text('y'.repeat(1_000_000));
      case 'grow':
        listed.push({ name: 'grown', description: 'New.', inputSchema: none });
        await server.sendToolListChanged();
        return text('grown');
    }
    return text(`${params.name} was called with ${JSON.stringify(given)}`);
  });
  return server;
}

const deep = JSON.parse(`${'{"properties":{"a":'.repeat(40)}{}${'}}'.repeat(40)}`);
const hostile = [
  { name: '../../etc/passwd\n\u001b[2J', description: 'A name that is none.', inputSchema: none },
  { name: 'a.b', description: 'Nearly twins.', inputSchema: none },
  { name: 'a b', description: 'Nearly twins.', inputSchema: none },
  { name: 'n'.repeat(200), description: 'd'.repeat(100_000), inputSchema: none },
  { name: 'twice', description: 'One.', inputSchema: none },
  { name: 'twice', description: 'Two.', inputSchema: none },
  { name: 'large', inputSchema: { type: 'object', description: 'x'.repeat(70_000) } },
  { name: 'deep', inputSchema: { type: 'object', ...deep } },
  { name: 'elsewhere', inputSchema: { type: 'object', properties: { a: { $ref: 'http://127.0.0.1:1/schema' } } } },
  { name: 'list', inputSchema: { type: 'array' } },
  { name: 'bare' },
  { name: 7, inputSchema: none },
  null,
  { name: 'slow', inputSchema: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } } },
  {
    name: 'old',
    inputSchema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { p: { items: [{ type: 'integer' }] } },
    },
  },
] as unknown as Tool[];

async function serve(mode: string): Promise<void> {
  if (mode === 'exit') {
    process.stderr.write('starting\ncannot find the moon\n');
    process.exit(1);
  }
  if (mode === 'mute') {
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1000);
    return;
  }
  if (mode === 'garbage') {
    process.stdout.write('Welcome to the server!\n{"not": "a message"}\n\u0000\u0001[1,2\n\n{"jsonrpc":"2.0","id":99999,"result":{}}\n');
    setInterval(() => process.stdout.write('still here\n'), 5);
  }
  if (mode === 'asking') onHang = () => pour({ id: 'again', method: 'ping' });
  if (mode === 'telling') onHang = () => pour({ method: 'notifications/tools/list_changed' });
  if (mode === 'shouting') onHang = () => pour({ method: 'notifications/message', params: { data: 'x'.repeat(8_000_000) } });
  const many = Array.from({ length: 1000 }, (_, i): Tool => ({ name: `tool_${i}`, description: `Number ${i}.`, inputSchema: none }));
  const server = createServer(mode === 'many' ? many : mode === 'hostile' ? hostile : plainTools, mode === 'many' ? 100 : 1000);
  if (mode === 'curious') {
    onHang = async () => {
      for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 300 }, () => server.ping()));
      return text('all answered');
    };
  }
  if (mode === 'stubborn') process.on('SIGTERM', () => {});
  if (mode === 'stubborn') setInterval(() => {}, 1000);
  await server.connect(new StdioServerTransport());
  // A server ends when its input does.
  if (mode !== 'stubborn') process.stdin.on('end', () => process.exit(0));
}

if (import.meta.main) await serve(process.argv[2] ?? 'plain');
