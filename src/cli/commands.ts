// The list of commands, in the order of the overview.
import type { Command } from './command.ts';
import { acpCommand } from './commands/acp.ts';
import { agentsCommand } from './commands/agents.ts';
import { applyCommand } from './commands/apply.ts';
import { approveCommand } from './commands/approve.ts';
import { attachCommand } from './commands/attach.ts';
import { budgetCommand } from './commands/budget.ts';
import { cancelCommand } from './commands/cancel.ts';
import { configCommand } from './commands/config.ts';
import { costsCommand } from './commands/costs.ts';
import { demoCommand } from './commands/demo.ts';
import { dialectsCommand } from './commands/dialects.ts';
import { diffCommand } from './commands/diff.ts';
import { discardCommand } from './commands/discard.ts';
import { doctorCommand } from './commands/doctor.ts';
import { evalCommand } from './commands/eval.ts';
import { exportCommand } from './commands/export.ts';
import { flowCommand } from './commands/flow.ts';
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
import { queueCommand } from './commands/queue.ts';
import { refuseCommand } from './commands/refuse.ts';
import { replayCommand } from './commands/replay.ts';
import { resumeCommand } from './commands/resume.ts';
import { rmCommand } from './commands/rm.ts';
import { runCommand } from './commands/run.ts';
import { scheduleCommand } from './commands/schedule.ts';
import { serveCommand } from './commands/serve.ts';
import { showCommand } from './commands/show.ts';
import { subagentCommand } from './commands/subagent.ts';
import { topCommand } from './commands/top.ts';
import { trustCommand } from './commands/trust.ts';
import { undoCommand } from './commands/undo.ts';
import { verifyCommand } from './commands/verify.ts';
import { waitCommand } from './commands/wait.ts';
import { workerCommand } from './commands/worker.ts';

export const commands: Command[] = [
  runCommand,
  flowCommand,
  evalCommand,
  scheduleCommand,
  demoCommand,
  topCommand,
  attachCommand,
  psCommand,
  showCommand,
  logsCommand,
  diffCommand,
  costsCommand,
  waitCommand,
  queueCommand,
  serveCommand,
  resumeCommand,
  pauseCommand,
  cancelCommand,
  messageCommand,
  approveCommand,
  refuseCommand,
  forkCommand,
  applyCommand,
  undoCommand,
  discardCommand,
  initCommand,
  modelsCommand,
  agentsCommand,
  policyCommand,
  dialectsCommand,
  configCommand,
  budgetCommand,
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
  acpCommand,
  workerCommand,
  subagentCommand,
];
