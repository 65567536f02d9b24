// The timeline as text: the steps of the critical path, and the longest segments. For screen readers, and for everyone who wants exact numbers.
import { memo, type ReactNode, useMemo, useState } from 'react';
import { formatPlural, formatShare } from '../../../src/views/format.ts';
import type { Lane, Moment, PathStep, Timeline } from '../../../src/views/timeline.ts';
import { Link } from '../router.tsx';
import { formatSpan, kindLabel, segmentTitle, stepTitle } from './describe.ts';
import { Swatch } from './legend.tsx';
import { type CriticalPath, longestSegments, mainSteps } from './model.ts';

const shownSegments = 15;

export interface TableProps {
  timeline: Timeline;
  /** Changes when the timeline does. */
  version: number;
  /** When the tree was created. */
  start: number;
}

/** Zooming changes nothing here, so it is not drawn again then. */
export const PathTable = memo(function PathTable({ path, timeline, start, isLive }: TableProps & { path: CriticalPath; isLive: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const main = useMemo(() => mainSteps(path.steps), [path]);
  const steps = isWhole ? path.steps : main;
  const sum = (all: PathStep[]) => all.reduce((ms, { from, to }) => ms + to - from, 0);
  const total = sum(path.steps);
  const hidden = path.steps.length - main.length;
  return (
    <section className="tl-section" aria-labelledby="tl-path-title">
      <h2 id="tl-path-title">Critical path</h2>
      <p className="muted">
        {isLive
          ? 'What the tree is waiting for, up to now. It can change until the tree has ended.'
          : 'What the end of the tree depended on. To finish earlier, one of these steps has to be shorter.'}
      </p>
      {steps.length === 0 ? (
        <p>It took no measurable time.</p>
      ) : (
        <div className="tl-table-scroll">
          <table className="table tl-table">
            <thead>
              <tr>
                <th className="number">After</th>
                <th className="number">Time</th>
                <th className="number">Share</th>
                <th>Run</th>
                <th>Step</th>
              </tr>
            </thead>
            <tbody>
              {steps.map((step) => (
                <tr key={step.from}>
                  <td className="number">{formatSpan(step.from - start)}</td>
                  <td className="number">{formatSpan(step.to - step.from)}</td>
                  <td className="number">{formatShare(step.to - step.from, total)}</td>
                  <td>
                    <RunLink lane={timeline.lanes.get(step.runId)} />
                  </td>
                  <td className="tl-what">
                    <Swatch kind={step.kind} /> <span className="visually-hidden">{kindLabel[step.kind]}: </span>
                    {stepTitle(step)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {hidden > 0 && (
        <button type="button" className="show-all" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show only longer steps' : `Show ${formatPlural(hidden, 'shorter step')}, ${formatSpan(total - sum(main))} in total`}
        </button>
      )}
    </section>
  );
});

export const LongestTable = memo(function LongestTable({ timeline, moment, start }: TableProps & { moment: Moment }) {
  const longest = longestSegments(timeline, moment, shownSegments);
  if (longest.length === 0) return null;
  return (
    <section className="tl-section" aria-labelledby="tl-longest-title">
      <h2 id="tl-longest-title">Longest segments</h2>
      <p className="muted">The longest times in which a run worked or could not continue. Waiting for children is not listed.</p>
      <div className="tl-table-scroll">
        <table className="table tl-table">
          <thead>
            <tr>
              <th className="number">Time</th>
              <th className="number">After</th>
              <th>Run</th>
              <th>What</th>
            </tr>
          </thead>
          <tbody>
            {longest.map(({ lane, segment }) => (
              <tr key={`${lane.id} ${segment.from} ${segment.kind}`}>
                <td className="number">{formatSpan(segment.to - segment.from)}</td>
                <td className="number">{formatSpan(segment.from - start)}</td>
                <td>
                  <RunLink lane={lane} />
                </td>
                <td className="tl-what">
                  <Swatch kind={segment.kind} /> <span className="visually-hidden">{kindLabel[segment.kind]}: </span>
                  {segmentTitle(segment)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
});

function RunLink({ lane }: { lane: Lane | undefined }): ReactNode {
  return lane ? (
    <Link to={`/runs/${lane.id}`} className="tl-run truncate">
      {lane.name}
    </Link>
  ) : null;
}
