// The run that is open on the screen: its events so far, and those that the stream brings.
import type { Delta } from '../../contract/delta.ts';
import type { StoredFact } from '../../contract/fact.ts';
import { isAfter } from '../../text/position.ts';
import { applyToConversation, type Conversation, createConversation } from '../../views/conversation.ts';
import { createFactDescriber } from '../../views/describe-fact.ts';
import type { ScreenApi } from './deps.ts';
import type { LiveTexts } from './live-texts.ts';
import { errorText } from './tree-source.ts';

export interface OpenRun {
  id: string;
  conversation: Conversation;
  /** One line per event. */
  log: { seq: number; at: string; type: string; text: string }[];
  state: 'loading' | 'loaded' | { error: string };
  /** Changes with everything that is shown of it. */
  version: number;
  /** Events of any run; those of others are ignored. */
  take(event: StoredFact | Delta): void;
}

export interface OpenRunDeps {
  api: Pick<ScreenApi, 'logs'>;
  /** The events of which are taken before they are taken here. */
  texts: LiveTexts;
  onChange(): void;
}

export function openRun(id: string, { api, texts, onChange }: OpenRunDeps): OpenRun {
  const describe = createFactDescriber();
  let early: (StoredFact | Delta)[] = [];
  let last = '0';

  const run: OpenRun = {
    id,
    conversation: createConversation(),
    log: [],
    state: 'loading',
    version: 0,
    take(event) {
      if (event.runId !== id) return;
      if (run.state === 'loading') early.push(event);
      else apply(event);
    },
  };

  function apply(event: StoredFact | Delta): void {
    if (event.type !== 'delta') {
      if (!isAfter(event.position, last)) return;
      last = event.position;
      run.log.push({ seq: event.seq, at: event.at, type: event.type, text: describe(event) });
    }
    if (event.type !== 'delta') applyToConversation(run.conversation, event);
    showText();
    run.version++;
    onChange();
  }

  /** Only while the model is asked: what the stream brings late does not count. */
  function showText(): void {
    const { conversation } = run;
    const text = texts.of(id);
    conversation.streaming = conversation.askedAt !== null && text !== null && text.turn >= conversation.turn ? { ...text } : null;
  }

  async function load(): Promise<void> {
    try {
      const facts = await api.logs(id);
      run.state = 'loaded';
      for (const fact of facts) {
        if ('erased' in fact) run.state = { error: 'the content of this run was erased' };
        else apply(fact);
      }
    } catch (error) {
      run.state = { error: errorText(error) };
    }
    for (const event of early) apply(event);
    early = [];
    showText();
    run.version++;
    onChange();
  }

  void load();
  return run;
}
