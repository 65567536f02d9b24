// The entry point `retinue/dialects`: delegation tools of other designs, and the means to define your own.
import type { Delta } from '../contract/delta.ts';
import type { Fact } from '../contract/fact.ts';
import { subSessionEvents as eventsOf, type SubSessionEvent } from '../dialects/openfork/events.ts';
import type { Clock } from '../ports/clock.ts';
import { systemClock } from '../system/clock.ts';

export { claude } from '../dialects/claude.ts';
export { codex } from '../dialects/codex.ts';
export { type DialectDefinition, defineDialect, defineDialectTool } from '../dialects/define.ts';
export { dex } from '../dialects/dex.ts';
export { type DialectConfig, dialectNames, makeDialect } from '../dialects/index.ts';
export { native } from '../dialects/native.ts';
export type { SubSessionEvent, SubSessionProgress } from '../dialects/openfork/events.ts';
export { openfork } from '../dialects/openfork.ts';
export { ralph } from '../dialects/ralph.ts';
export {
  type EnvelopeRead,
  envelopeVersion,
  type RxRequest,
  type RxRequestEnvelope,
  type RxResponse,
  type RxResponseEnvelope,
  readEnvelope,
  requestEnvelope,
  responseEnvelope,
  taskHash,
} from '../dialects/rx/envelope.ts';
export { rx } from '../dialects/rx.ts';
export { xzatoma } from '../dialects/xzatoma.ts';
export type { ChildView } from '../ports/delegation.ts';
export type {
  Activity,
  ChildReply,
  DelegationReply,
  DelegationRequest,
  Dialect,
  DialectContext,
  DialectResult,
  DialectSetup,
  DialectTool,
  FirstMessage,
  ResultPart,
} from '../ports/dialect.ts';

/** OpenFork's events of a run and its tree: `subSessionEvents(run.events({ tree: true }))`. Progress events are batched every 16 ms. */
export function subSessionEvents(
  events: AsyncIterable<Fact | Delta>,
  { clock = systemClock }: { clock?: Pick<Clock, 'at' | 'monotonic'> } = {},
): AsyncGenerator<SubSessionEvent> {
  return eventsOf(events, { clock });
}
