import { memo, type ReactNode, useState } from 'react';
import type { AnswerItem } from '../../../../src/views/conversation.ts';
import { formatCost, formatCount, formatDuration, formatShare } from '../../../../src/views/format.ts';
import { useRunActions } from '../../actions/run-actions.tsx';
import { toTarget } from '../../actions/target.ts';
import { useMissingRole } from '../../data/context.tsx';
import { Button } from '../../parts/button.tsx';
import { formatTime } from '../../parts/figures.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import type { RunPageView } from './run-view.ts';

export function AnswerView({ item, view }: { item: AnswerItem; view: RunPageView }): ReactNode {
  const actions = useRunActions();
  const noStart = useMissingRole('start');
  const { turn, text, reasoning } = item;
  return (
    <section className="turn" aria-label={`Turn ${turn}`}>
      <TurnHead turn={turn}>
        <span title={formatTime(item.at)}>{describeFigures(item)}</span>
        <Button
          size="small"
          variant="quiet"
          className="fork"
          disabledReason={noStart}
          aria-label={`Fork from turn ${turn}`}
          onClick={() => actions.open('fork', toTarget(view.run, view.state, false), { turn })}
        >
          Fork
        </Button>
      </TurnHead>
      {reasoning.trim() !== '' && <Reasoning text={reasoning} />}
      {text.trim() !== '' && <Markdown text={text} />}
    </section>
  );
}

function describeFigures({ usage, costUsd, ms }: AnswerItem): string {
  const tokens = `${formatCount(usage.input + usage.output)} tokens${usage.estimated ? ' (estimated)' : ''}`;
  const cached = usage.cached > 0 ? `${formatShare(usage.cached, usage.input)} cached` : '';
  return [tokens, cached, formatCost(costUsd), formatDuration(ms)].filter((part) => part !== '').join(' · ');
}

export function TurnHead({ turn, children }: { turn: number; children: ReactNode }): ReactNode {
  return (
    <header className="turn-head">
      <h2>Turn {turn}</h2>
      <span className="turn-figures muted figure">{children}</span>
    </header>
  );
}

/** What the model thought before it answered; folded, because it is long and rarely needed. */
export const Reasoning = memo(function Reasoning({ text, isOpen = false }: { text: string; isOpen?: boolean }): ReactNode {
  const [choice, setChoice] = useState<boolean | null>(null);
  const isShown = choice ?? isOpen;
  return (
    <div className="reasoning">
      <button type="button" className="reasoning-toggle" aria-expanded={isShown} onClick={() => setChoice(!isShown)}>
        <span aria-hidden="true">{isShown ? '▾' : '▸'}</span> Reasoning
        {!isShown && <span className="truncate muted">{text.trim().split('\n', 1)[0]}</span>}
      </button>
      {isShown && <Markdown text={text} maxLines={80} />}
    </div>
  );
});
