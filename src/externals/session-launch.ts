// How the program of a session is started: its environment, and what a sandbox shows it.
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { ExternalRequest } from '../ports/external-agent.ts';
import type { Sandbox } from '../ports/sandbox.ts';
import type { GateServer } from './gate.ts';
import type { LaunchRequest } from './launch.ts';
import type { Profile, ProfileContext } from './profiles/types.ts';
import { type Env, type FoundProgram, programFolders } from './programs.ts';
import { gateAddress } from './relay.ts';
import { socketNames } from './socket-folder.ts';

export type SessionRequest = Pick<ExternalRequest, 'model' | 'workspace' | 'files' | 'canWrite' | 'canUseNetwork'>;

export interface LaunchDeps {
  env: Env;
  /** Null: the agent is not confined. */
  sandbox: Sandbox | null;
  marks(): Record<string, string>;
  profile: Profile;
  found: FoundProgram | null;
  gate: GateServer | null;
  home: string;
  sockets: string;
  relay: string;
}

export function createLaunch(request: SessionRequest, deps: LaunchDeps): LaunchRequest {
  const { model, workspace, files } = request;
  const { sandbox, profile, found, gate, home, sockets, relay } = deps;
  const program = found?.path ?? profile.program;
  const context: ProfileContext = {
    home,
    program,
    isConfined: sandbox !== null,
    gate: gate && { url: gateAddress, token: gate.token, model: model?.endpoint?.modelId ?? '', wire: gate.wire },
  };
  const started = [found?.adapter ?? program, ...profile.args];
  const folders = [
    ...new Set([dirname(process.execPath), ...programFolders(program), ...(found?.adapter ? programFolders(found.adapter) : [])]),
  ];
  const path = [dirname(process.execPath), dirname(program), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter);
  const { LANG = 'C.UTF-8', HOME = '/' } = deps.env;
  const login = gate ? [] : profile.loginFolders(HOME);
  return {
    argv: [process.execPath, relay, 'gate', join(sockets, socketNames.model), '--', ...started],
    cwd: workspace,
    env: { PATH: path, LANG, TERM: 'dumb', HOME: gate ? home : HOME, TMPDIR: sandbox ? '/tmp' : tmpdir(), ...profile.env(context) },
    marks: deps.marks(),
    confined: sandbox && {
      sandbox,
      request: {
        writable: request.canWrite,
        // Without a gate the agent needs its own way to its provider.
        network: gate === null || request.canUseNetwork,
        git: false,
        keepsPriority: true,
        protect: ['.git', '.retinue'],
        hide: ['.retinue', ...(profile.closed ?? [])],
        readable: (files?.objects ?? []).map((each) => ({ path: each, hide: [] })),
        shown: (files?.mounts ?? []).map(({ source, path: at }) => ({ source, path: at, hide: [] })),
        folders: [
          ...folders.map((each) => ({ path: each, writable: false })),
          ...login.map((each) => ({ path: each, writable: true })),
          // It can connect to the sockets, and change nothing there.
          { path: sockets, writable: false },
          { path: home, writable: true },
        ],
      },
    },
  };
}
