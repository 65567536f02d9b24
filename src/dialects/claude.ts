// Claude Code: `Agent` launches an agent, in the background unless the call says otherwise; `SendMessage` continues one, `TaskStop` ends one.
// Names, parameters and results are those of Claude Code 2.1.325, and `TaskOutput` that of 2.1.250; the texts are ours.
import type { z } from 'zod';
import type { Dialect } from '../ports/dialect.ts';
import { claudeAgents } from './claude/agents.ts';
import { followUpTools } from './claude/follow-up.ts';
import { createLaunchTools } from './claude/launch.ts';
import { tooDeep } from './claude/texts.ts';
import { applyTool } from './native/follow-up.ts';
import { ClaudeConfig, parseSettings } from './settings.ts';
import { omitUndefined } from './shared/brief.ts';

const defaults = { max_concurrent_subagents: 20, max_depth: 3, models: {} };

export function claude(config: z.input<typeof ClaudeConfig> = {}): Dialect {
  const settings = { ...defaults, ...omitUndefined(parseSettings('claude', ClaudeConfig, config)) };
  return {
    name: 'claude',
    description: 'Claude Code: typed agents in the background or foreground, with messages to running and ended agents',
    // Claude Code merges the branch of a worktree with git. Retinue keeps the changes of a run, so they need a tool.
    tools: [...createLaunchTools(settings), ...followUpTools, applyTool],
    setup: {
      endsWithClient: true,
      limits: { maxDepth: settings.max_depth, maxConcurrent: settings.max_concurrent_subagents },
      whenFull: 'refuse',
      agents: claudeAgents,
      root: 'claude/main',
      notOffered: () => tooDeep,
    },
  };
}
