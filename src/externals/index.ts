// External agents: programs that do the work of a run. This folder starts them and speaks their protocols; what they may do is decided by the kernel.
//
//   programs.ts     finds the installed programs        launch.ts, session-launch.ts  start one, in a sandbox where there is one
//   profiles/       how each known agent is started     acp-session.ts  the Agent Client Protocol, client side
//   tool-map.ts     tool names                          gate.ts, wire/  the model gate
//   relay.ts        the way out of the sandbox          submit-server.ts  `submit_result` over MCP
//   homes.ts        the agents' own folders             socket-folder.ts  folders for sockets
//   promises.ts     what is enforced                    probe.ts        tries the model gate, for `retinue doctor`
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import type { ExternalAgents, ExternalRequest, ExternalSession } from '../ports/external-agent.ts';
import type { Sandbox } from '../ports/sandbox.ts';
import { openAcpSession } from './acp-session.ts';
import { startGate } from './gate.ts';
import { openHome } from './homes.ts';
import { launchProgram } from './launch.ts';
import { customProfile } from './profiles/custom.ts';
import type { Profile } from './profiles/types.ts';
import { type Env, type FoundProgram, findProgram, nameOf, profiles, requireProgram } from './programs.ts';
import { describeLimits } from './promises.ts';
import { relaySource } from './relay.ts';
import { createLaunch } from './session-launch.ts';
import { openSocketFolder, socketNames } from './socket-folder.ts';
import { startSubmitServer } from './submit-server.ts';
import { createCallMapper } from './tool-map.ts';

export interface ExternalAgentsOptions {
  env: Env;
  /** Where the homes of agents are. */
  folder: string;
  /** Where folders for sockets are made; the system's folder for temporary files if absent. */
  temporary?: string;
  /** Null: agents are not confined. */
  sandbox: Sandbox | null;
  /** Why no agent may be started: a sandbox is required, but there is none. */
  closed: string | null;
  /** Variables by which started processes are found again after this process has died. */
  marks(): Record<string, string>;
}

export function createExternalAgents(options: ExternalAgentsOptions): ExternalAgents {
  return { nameOf, open: (request) => openExternal(request, options) };
}

async function openExternal(request: ExternalRequest, options: ExternalAgentsOptions): Promise<ExternalSession> {
  const { external, workspace, model, handlers, signal } = request;
  const { sandbox, closed } = options;
  const name = nameOf(external);
  if (closed !== null)
    throw new RetinueError('agent_program', `the agent ${name} was not started: ${closed.replace(/^the command was not started: /, '')}`);
  const { profile, found } = await findProfile(request, options);
  if (model && !model.endpoint)
    throw new RetinueError(
      'agent_program',
      `${name} cannot use the model ${model.id}: it has no address; choose a model of a provider, or \`login: own\``,
    );
  if (model?.endpoint && !profile.wires.includes(model.endpoint.wire))
    throw new RetinueError(
      'agent_program',
      `${name} cannot use the model ${model.id}: ${wireAdvice[name] ?? 'its provider uses another protocol'}`,
    );
  const settings = sandbox ? undefined : profile.closed?.find((path) => existsSync(join(workspace, path)));
  if (settings !== undefined)
    throw new RetinueError(
      'agent_program',
      `${name} was not started: it would use the settings in ${settings} of the workspace, which may start programs; install a sandbox, or remove them`,
    );
  const home = openHome(options.folder, request.runId, profile.folders ?? []);
  const { path: sockets, close: closeSockets } = await openSocketFolder({ temporary: tmpdir(), ...options });
  const undo: (() => Promise<unknown>)[] = [closeSockets];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step().catch(() => {});
  };
  try {
    const mapCall = createCallMapper(profile.name, profile.tools, workspace);
    const gate = model?.endpoint
      ? await startGate({
          socket: join(sockets, socketNames.model),
          endpoint: model.endpoint,
          gate: handlers.gate,
          canSearch: request.canSearch,
          mapCall: (call) => mapCall(call),
        })
      : null;
    if (gate) undo.push(gate.close);
    const submit = request.schema ? await startSubmitServer(join(sockets, socketNames.submit), request.schema, handlers.submit) : null;
    if (submit) undo.push(submit.close);
    // Not in its home: a link that the agent left there would be followed.
    const relay = join(sockets, 'relay.mjs');
    writeFileSync(relay, relaySource, { mode: 0o600 });
    const program = await launchProgram(createLaunch(request, { ...options, profile, found, gate, home, sockets, relay }));
    undo.push(program.end);
    const session = await openAcpSession({
      ...{ name, program, cwd: workspace, handlers, signal, mapCall },
      mcpServers: submit
        ? [{ name: 'retinue', command: process.execPath, args: [relay, 'stdio', join(sockets, socketNames.submit)], env: [] }]
        : [],
      meta: profile.meta,
      previous: request.session,
    });
    const notices = describeLimits({ isGated: gate !== null, isConfined: sandbox !== null, canUseNetwork: request.canUseNetwork });
    const version = found?.version ?? session.version;
    return {
      opened: { agent: name, how: session.how, notices: notices.map((notice) => `${name}: ${notice}`), session: session.id, version },
      prompt: session.prompt,
      cancel: session.cancel,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const wireAdvice: Record<string, string> = {
  claude: 'it needs a model of Anthropic, such as anthropic/claude-sonnet-4-5',
  codex: 'it needs a model with the Responses protocol, such as openai/gpt-5',
};

async function findProfile(
  { external, workspace }: ExternalRequest,
  { env }: ExternalAgentsOptions,
): Promise<{ profile: Profile; found: FoundProgram | null }> {
  if ('program' in external) {
    const profile = profiles[external.program] as Profile;
    return { profile, found: await requireProgram(profile, env, workspace) };
  }
  const [command = '', ...args] = external.acp;
  const path = findProgram(command, env, workspace);
  if (path === null)
    throw new RetinueError('agent_program', `the program ${command} was not found, or is not executable; check \`runs\` of the agent`);
  return { profile: customProfile(nameOf(external), path, args), found: null };
}
