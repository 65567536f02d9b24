// Any other program that speaks ACP. It finds the model gate in its environment, under the names that most programs use.
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { opencode } from './opencode.ts';
import type { Profile } from './types.ts';

export function customProfile(name: string, program: string, args: string[]): Profile {
  return {
    name,
    program,
    minVersion: [0, 0, 0],
    install: '',
    args,
    wires: ['messages', 'chat', 'responses'],
    env: ({ gate }) =>
      gate
        ? {
            RETINUE_GATE_URL: gate.url,
            RETINUE_GATE_TOKEN: gate.token,
            RETINUE_GATE_MODEL: gate.model,
            ANTHROPIC_BASE_URL: gate.url,
            ANTHROPIC_API_KEY: gate.token,
            OPENAI_BASE_URL: `${gate.url}/v1`,
            OPENAI_API_KEY: gate.token,
          }
        : {},
    loginFolders: () => [],
    tools: { ...codex.tools, ...opencode.tools, ...claude.tools },
  };
}
