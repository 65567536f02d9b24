// Tries the way from an agent to its model, for `retinue doctor`: a small program in place of the agent, in the same sandbox, sends one request over
// the relay and the model gate to the provider. The agent itself is not started, so the call is a short one.
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Usage } from '../contract/content.ts';
import type { ModelGate } from '../ports/external-agent.ts';
import type { ModelEndpoint, ModelHandle } from '../ports/model.ts';
import { startGate, wires } from './gate.ts';
import type { ExternalAgentsOptions } from './index.ts';
import { type LaunchedProgram, launchProgram } from './launch.ts';
import { customProfile } from './profiles/custom.ts';
import { relaySource } from './relay.ts';
import { createLaunch } from './session-launch.ts';
import { openSocketFolder, socketNames } from './socket-folder.ts';

/** `ms`: how long the provider took. */
export type ProbeResult = { ok: true; call: { ms: number; usage: Usage } | null } | { ok: false; reason: string };

export type ProbeOptions = Pick<ExternalAgentsOptions, 'env' | 'sandbox' | 'marks' | 'folder' | 'temporary'>;

const probeMs = 60_000;

/** Sends one request without a valid token, which must be refused, and one with it. Prints the second answer. */
const probeSource = `
const [path, body] = process.argv.slice(2);
const { RETINUE_GATE_URL: url, RETINUE_GATE_TOKEN: token } = process.env;
const post = (key) => fetch(url + path, { method: 'POST', headers: { 'x-api-key': key, 'content-type': 'application/json' }, body });
const refused = await post('none');
const answer = body === '' ? null : await post(token);
process.stdout.write(JSON.stringify({ refused: refused.status, status: answer?.status ?? null, text: (await answer?.text())?.slice(0, 1000) ?? '' }) + '\\n');
`;

/** `model`: null if only the gate is to be tried, without a call. Never rejects. */
export async function probeGate(model: ModelHandle | null, options: ProbeOptions): Promise<ProbeResult> {
  const undo: (() => Promise<void>)[] = [];
  try {
    const { path: folder, close } = await openSocketFolder({ temporary: tmpdir(), ...options });
    undo.push(close);
    const [home, workspace] = ['home', 'files'].map((name) => join(folder, name)) as [string, string];
    for (const path of [home, workspace]) mkdirSync(path, { mode: 0o700 });
    const [relay, script] = ['relay.mjs', 'probe.mjs'].map((name) => join(folder, name)) as [string, string];
    writeFileSync(relay, relaySource, { mode: 0o600 });
    writeFileSync(script, probeSource, { mode: 0o600 });
    const endpoint = model?.endpoint ?? noEndpoint;
    const meter = createMeter();
    const gate = await startGate({
      ...{ endpoint, gate: meter.gate, canSearch: false, mapCall: () => [] },
      socket: join(folder, socketNames.model),
    });
    undo.push(gate.close);
    const { path, probe } = wires[endpoint.wire];
    const profile = customProfile('probe', process.execPath, [script, path, model ? JSON.stringify(probe(endpoint.modelId)) : '']);
    const request = { model, workspace, files: null, canWrite: false, canUseNetwork: false };
    const program = await launchProgram(createLaunch(request, { ...options, profile, found: null, gate, home, sockets: folder, relay }));
    undo.push(program.end);
    const printed = await Promise.race([readLine(program), timeout()]);
    return judge(printed, { isTried: model !== null, call: meter.call() });
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  } finally {
    for (const step of undo.reverse()) await step().catch(() => {});
  }
}

const noEndpoint: ModelEndpoint = {
  wire: 'messages',
  modelId: 'none',
  clean: (text) => text,
  post: () => Promise.reject(new Error('there is no model')),
};

/** Allows one call and measures it. */
function createMeter(): { gate: ModelGate; call(): { ms: number; usage: Usage } | null } {
  let call: { ms: number; usage: Usage } | null = null;
  let isUsed = false;
  return {
    call: () => call,
    gate: {
      async begin() {
        if (isUsed) return { ok: false, refused: 'only one call is made' };
        isUsed = true;
        const begun = performance.now();
        return {
          ok: true,
          call: {
            async answered({ usage }) {
              call = { ms: performance.now() - begun, usage };
              return null;
            },
            failed() {},
          },
        };
      },
    },
  };
}

/** The line that the program prints. */
async function readLine({ output, exited }: Pick<LaunchedProgram, 'output' | 'exited'>): Promise<string> {
  let text = '';
  const line = new Promise<void>((resolve) => {
    output.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      if (text.endsWith('\n')) resolve();
    });
  });
  const ended = await Promise.race([line, exited]);
  if (ended !== undefined && !text.endsWith('\n')) throw new Error(`the program in place of the agent failed: ${ended}`);
  return text;
}

function timeout(): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(new Error(`no answer within ${probeMs / 1000} s`)), probeMs).unref());
}

function judge(printed: string, { isTried, call }: { isTried: boolean; call: { ms: number; usage: Usage } | null }): ProbeResult {
  const { refused, status, text } = JSON.parse(printed) as { refused: number; status: number | null; text: string };
  if (refused !== 401) return { ok: false, reason: `the model gate answered a request without its token with status ${refused}` };
  if (!isTried) return { ok: true, call: null };
  if (status === 200 && call) return { ok: true, call };
  return { ok: false, reason: `the provider answered with status ${status}: ${text.slice(0, 300)}` };
}
