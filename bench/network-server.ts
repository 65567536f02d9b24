// The provider of the network benchmark, in a separate process. Every call takes 200 ms. The parent delegates to as many children as its task
// says; each child makes three tool calls, one per turn, and ends.
import { startProviderServer } from '../src/testing/provider-server.ts';

const delayMs = 200;
const server = await startProviderServer({
  answer: (request) => {
    const messages = request.body.messages as { role: string; content: unknown }[];
    const results = messages.filter((message) => message.role === 'tool').length;
    const first = String(messages.find((message) => message.role === 'user')?.content);
    const children = Number(/children: (\d+)/.exec(JSON.stringify(first))?.[1] ?? 0);
    if (children > 0 && results === 0) {
      const call = (at: number) => ({
        tool: 'delegate',
        args: { tasks: Array.from({ length: 16 }, (_, n) => ({ task: `child ${at * 16 + n}`, agent: 'explore' })) },
      });
      return { delayMs, calls: Array.from({ length: children / 16 }, (_, at) => call(at)) };
    }
    if (children === 0 && results < 3) return { delayMs, calls: [{ tool: 'echo', args: { n: results } }] };
    return { delayMs, text: 'done' };
  },
});
process.stdout.write(`${server.url}\n`);
process.stdin.resume().on('end', () => void server.close().then(() => process.exit(0)));
