// Approval questions of runs, asked through the client. Rules decide first: a call that a rule denies never becomes a question.
import type { Question } from '../api/api.ts';
import type { QuestionAnswer } from '../api/forward-questions.ts';
import type { Connection } from '../system/rpc-connection.ts';
import { RpcError } from '../system/rpc-error.ts';
import { describeQuestion } from '../views/describe-question.ts';
import { PermissionResponse, type ToolContent } from './protocol.ts';
import { describeToolCall, outputContent, proposedDiff } from './tool-call.ts';
import { callId } from './tree-updates.ts';

const options = [
  { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
  { optionId: 'always', name: 'Allow the same until this prompt ends', kind: 'allow_always' },
  { optionId: 'refuse', name: 'Refuse', kind: 'reject_once' },
];

/**
 * Null leaves the question open: the signal has fired, or the client has gone. Everything else but a clear yes is a refusal, also an error of the
 * client.
 */
export async function askClient(
  question: Question,
  { connection, sessionId, workspace, signal }: { connection: Connection; sessionId: string; workspace: string; signal: AbortSignal },
): Promise<QuestionAnswer | null> {
  const { runId, tool, arguments: args } = question;
  const content: ToolContent[] = [...proposedDiff(tool, args, workspace), ...outputContent(describeQuestion(question, false))];
  const toolCall = { toolCallId: callId(runId, question), ...describeToolCall(tool, args, workspace), status: 'pending', content };
  try {
    const answer = PermissionResponse.safeParse(
      await connection.call('session/request_permission', { sessionId, toolCall, options }, signal),
    );
    const chosen = answer.success && answer.data.outcome.outcome === 'selected' ? answer.data.outcome.optionId : null;
    if (chosen === 'allow' || chosen === 'always') return { allowed: true, always: chosen === 'always' };
    return { allowed: false, ...(chosen === 'refuse' ? {} : { reason: 'the editor gave no valid answer' }) };
  } catch (error) {
    if (!(error instanceof RpcError)) return null;
    return { allowed: false, by: 'the editor', reason: `the approval request failed (${error.message})` };
  }
}
