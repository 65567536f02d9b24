import type { RemoteAsk, RemoteSession } from '../../ports/host.ts';

/** What the supervisor's desk says to what the place of a run asks for. */
export async function answerTo(message: RemoteAsk, session: RemoteSession): Promise<'go on' | 'over'> {
  if (message.type === 'step') return session.step(message.kind, message.seq);
  if (message.type === 'may') return session.may(message.at);
  if (message.type === 'call') await session.call(message.at);
  else await session.result(message.at, message.given);
  return 'go on';
}
