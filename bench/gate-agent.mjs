// An external agent for `bench/gate.ts`: on its prompt it calls the model in turn over the gate and directly, and answers with the times.
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';

const { direct, calls, bytes } = JSON.parse(process.argv[2]);
const agent = new Agent({ keepAlive: true });
const { RETINUE_GATE_URL: gate, RETINUE_GATE_TOKEN: token, RETINUE_GATE_MODEL: model } = process.env;
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const tools = [{ name: 'Bash', description: 'a shell', input_schema: { type: 'object' } }];
const body = JSON.stringify({ model, max_tokens: 100, tools, messages: [{ role: 'user', content: 'word '.repeat(bytes / 5) }] });

function call(url) {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { 'x-api-key': token, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(`${url}/v1/messages`, { agent, method: 'POST', headers }, (response) => {
      response.resume();
      response.on('end', () =>
        response.statusCode === 200 ? resolve(performance.now() - start) : reject(new Error(`status ${response.statusCode}`)),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function measure() {
  const times = { direct: [], gated: [] };
  for (let n = 0; n < calls; n++) {
    times.direct.push(await call(direct));
    times.gated.push(await call(gate));
  }
  return times;
}

const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': () => ({ sessionId: 's1' }),
  async 'session/prompt'() {
    const content = { type: 'text', text: JSON.stringify(await measure()) };
    send({ method: 'session/update', params: { sessionId: 's1', update: { sessionUpdate: 'agent_message_chunk', content } } });
    return { stopReason: 'end_turn' };
  },
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined && answers[method]) send({ id, result: await answers[method]() });
});
process.stdin.on('end', () => process.exit(0));
