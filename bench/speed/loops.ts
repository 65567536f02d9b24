// The same children without Retinue: hand-written loops over `fetch` and `node:http`, and the loop of the AI SDK. They store nothing.
import { request } from 'node:http';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, tool } from 'ai';
import { z } from 'zod';

/** Runs this many children at the same time, to their ends. */
export type RunChildren = (n: number) => Promise<void>;

type Send = (url: string, body: string) => Promise<string>;

const headers = { 'content-type': 'application/json' };
const system = 'x'.repeat(1500);

export async function sendByFetch(url: string, body: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers, body });
  let text = '';
  for await (const chunk of response.body as ReadableStream<Uint8Array>) text += Buffer.from(chunk).toString();
  return text;
}

export function sendByHttp(url: string, body: string): Promise<string> {
  return new Promise((done, fail) => {
    const sent = request(url, { method: 'POST', headers: { ...headers, 'content-length': Buffer.byteLength(body) } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => done(text));
    });
    sent.on('error', fail);
    sent.end(body);
  });
}

/** Three tool calls and a last answer, with a conversation that grows. */
export function createBareLoop(url: string, send: Send): RunChildren {
  const call = async (messages: object[]) => {
    const text = await send(`${url}/v1/chat/completions`, JSON.stringify({ model: 'x', stream: true, messages }));
    for (const line of text.split('\n')) if (line.startsWith('data: {')) JSON.parse(line.slice(6));
  };
  const runChild = async (n: number) => {
    const messages: object[] = [
      { role: 'system', content: system },
      { role: 'user', content: `child ${n}` },
    ];
    for (let turn = 0; turn < 4; turn++) {
      await call(messages);
      messages.push({ role: 'assistant', content: 'x' }, { role: 'tool', tool_call_id: 'x', content: `${turn}` });
    }
  };
  return async (n) => void (await Promise.all(Array.from({ length: n }, (_, at) => runChild(at))));
}

export function createAiModel(url: string, fetch?: typeof globalThis.fetch) {
  return createOpenAICompatible({ name: 'bench', baseURL: `${url}/v1`, includeUsage: true, ...(fetch && { fetch }) })('x');
}

/** The AI SDK's own loop, in one-piece answers, as `generateText` makes it. */
export function createAiLoop(model: ReturnType<typeof createAiModel>, task = 'child'): RunChildren {
  const echo = tool({
    description: 'Returns its input',
    inputSchema: z.strictObject({ n: z.number() }),
    execute: async ({ n }) => String(n),
  });
  const runChild = (n: number) =>
    generateText({ model, instructions: system, prompt: `${task} ${n}`, tools: { echo }, stopWhen: isStepCount(10), maxRetries: 0 });
  return async (n) => void (await Promise.all(Array.from({ length: n }, (_, at) => runChild(at))));
}
