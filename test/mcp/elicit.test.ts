// Questions of delegated runs, put to the person behind a client that offers elicitation.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, it } from 'vitest';
import { createPlace } from '../cli/support-process.ts';
import { startServer } from './support.ts';

const script = {
  runs: [{ times: 'any', steps: [{ calls: [{ tool: 'bash', args: { command: 'echo hello > out.txt' } }] }, { text: 'done' }] }],
};

function asking(answer: object) {
  const asked: string[] = [];
  const client = new Client({ name: 'asks', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    asked.push(params.message);
    return answer as never;
  });
  return { client, asked };
}

const run = async (client: Client | undefined) => {
  const place = createPlace(script);
  await using server = await startServer({ place, ...(client ? { client } : {}), args: ['--sandbox', 'off'] });
  const result = await server.call('delegate', { tasks: [{ task: 'write it' }] });
  return { text: JSON.stringify(result.content), made: existsSync(join(place.folder, 'out.txt')) };
};

it('is asked, with the call and the rule, and what it allows is done', async () => {
  const { client, asked } = asking({ action: 'accept', content: { answer: 'allow this once' } });
  expect(await run(client)).toMatchObject({ made: true });
  expect(asked).toEqual([expect.stringMatching(/asks to use bash: rule `ask bash` of built-in\n\necho hello > out.txt/)]);
});

it.each([{ action: 'decline' }, { action: 'cancel' }, { action: 'accept', content: { answer: 'maybe' } }])(
  'anything but a yes is a no: %j',
  async (answer) => {
    const { client, asked } = asking(answer);
    expect(await run(client)).toMatchObject({ made: false });
    expect(asked).toHaveLength(1);
  },
);

it('is not asked where it does not offer that: the call is denied at once', async () => {
  expect(await run(undefined)).toMatchObject({ made: false });
});
