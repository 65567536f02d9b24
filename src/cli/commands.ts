// The list of commands, in the order of the overview.
import type { Command } from './command.ts';
import { agentsCommand } from './commands/agents.ts';
import { approveCommand } from './commands/approve.ts';
import { attachCommand } from './commands/attach.ts';
import { cancelCommand } from './commands/cancel.ts';
import { configCommand } from './commands/config.ts';
import { demoCommand } from './commands/demo.ts';
import { dialectsCommand } from './commands/dialects.ts';
import { diffCommand } from './commands/diff.ts';
import { doctorCommand } from './commands/doctor.ts';
import { exportCommand } from './commands/export.ts';
import { forkCommand } from './commands/fork.ts';
import { gcCommand } from './commands/gc.ts';
import { importCommand } from './commands/import.ts';
import { initCommand } from './commands/init.ts';
import { logsCommand } from './commands/logs.ts';
import { mcpCommand } from './commands/mcp.ts';
import { memoryCommand } from './commands/memory.ts';
import { messageCommand } from './commands/message.ts';
import { modelsCommand } from './commands/models.ts';
import { notifyCommand } from './commands/notify.ts';
import { pauseCommand } from './commands/pause.ts';
import { policyCommand } from './commands/policy.ts';
import { psCommand } from './commands/ps.ts';
import { refuseCommand } from './commands/refuse.ts';
import { replayCommand } from './commands/replay.ts';
import { resumeCommand } from './commands/resume.ts';
import { rmCommand } from './commands/rm.ts';
import { runCommand } from './commands/run.ts';
import { serveCommand } from './commands/serve.ts';
import { showCommand } from './commands/show.ts';
import { subagentCommand } from './commands/subagent.ts';
import { topCommand } from './commands/top.ts';
import { trustCommand } from './commands/trust.ts';
import { verifyCommand } from './commands/verify.ts';
import { waitCommand } from './commands/wait.ts';

export const commands: Command[] = [
  runCommand,
  demoCommand,
  topCommand,
  attachCommand,
  psCommand,
  showCommand,
  logsCommand,
  diffCommand,
  waitCommand,
  serveCommand,
  resumeCommand,
  pauseCommand,
  cancelCommand,
  messageCommand,
  approveCommand,
  refuseCommand,
  forkCommand,
  initCommand,
  modelsCommand,
  agentsCommand,
  policyCommand,
  dialectsCommand,
  configCommand,
  memoryCommand,
  trustCommand,
  notifyCommand,
  doctorCommand,
  replayCommand,
  verifyCommand,
  exportCommand,
  importCommand,
  rmCommand,
  gcCommand,
  mcpCommand,
  subagentCommand,
];
