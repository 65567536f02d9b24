// All formats, in the order in which they win over each other.
import { claudeFormat } from './claude.ts';
import { codexFormat } from './codex.ts';
import type { AgentFormat } from './format.ts';
import { geminiFormat } from './gemini.ts';
import { githubFormat } from './github.ts';
import { gooseFormat } from './goose.ts';
import { opencodeConfigFormat, opencodeFormat } from './opencode.ts';
import { retinueFormat } from './retinue.ts';

export const agentFormats: readonly AgentFormat[] = [
  retinueFormat,
  claudeFormat,
  opencodeFormat,
  opencodeConfigFormat,
  geminiFormat,
  codexFormat,
  githubFormat,
  gooseFormat,
];

export { retinueFormat };
