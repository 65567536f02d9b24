// Modes of a session. A mode adds a ruleset to the runs that it starts, which can only take rights away from what the configuration allows.
import type { Brief } from '../contract/brief.ts';
import type { ModeState, SessionMode } from './protocol.ts';

export interface Mode extends SessionMode {
  rules: string[];
  /** The agent of its runs; the default one if absent. */
  agent?: string;
}

const changing = ['write', 'edit', 'bash', 'mcp__*'];

export const modes: Mode[] = [
  { id: 'default', name: 'Default', description: 'What your configuration allows', rules: [] },
  {
    id: 'ask',
    name: 'Ask',
    description: 'Asks before every change, command and MCP tool',
    rules: changing.map((tool) => `ask ${tool}`),
  },
  {
    id: 'read-only',
    name: 'Read only',
    description: 'Changes nothing: no edits, commands or MCP tools',
    rules: changing.map((tool) => `deny ${tool}`),
  },
  {
    id: 'plan',
    name: 'Plan',
    description: 'Reads and makes a plan, without changing anything',
    rules: changing.map((tool) => `deny ${tool}`),
    agent: 'plan',
  },
];

export const modeIds = modes.map(({ id }) => id);
export const defaultMode = modes[0] as Mode;

export function findMode(id: string): Mode | null {
  return modes.find((mode) => mode.id === id) ?? null;
}

/** The mode that started a run. */
export function modeOfBrief({ rules = [], agent }: Pick<Brief, 'rules' | 'agent'>): Mode {
  const matching = modes.filter((mode) => mode.rules.join() === rules.join());
  return matching.find((mode) => mode.agent === agent) ?? matching.find((mode) => mode.agent === undefined) ?? defaultMode;
}

export function describeModes({ id }: Mode): ModeState {
  return { currentModeId: id, availableModes: modes.map(({ id: each, name, description }) => ({ id: each, name, description })) };
}
