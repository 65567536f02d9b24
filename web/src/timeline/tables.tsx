// The timeline as text: the steps of the critical path, and the longest segments. For screen readers, and for everyone who wants exact numbers.
import { type ReactNode, useState } from 'react';
import { formatDuration, formatPlural } from '../../../src/views/format.ts';
import type { Lane, Moment, Timeline } from '../../../src/views/timeline.ts';
import { Link } from '../router.tsx';
import { formatShare, kindLabel, segmentTitle, stepTitle } from './describe.ts';
import { Swatch } from './legend.tsx';
import { type CriticalPath, longestSegments } from './model.ts';

const shownSteps = 25;
const shownSegments = 15;

export function PathTable({
  path,
  timeline,
  start,
  isLive,
}: {
  path: CriticalPath;
  timeline: Timeline;
  start: number;
  isLive: boolean;
}): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const total = path.steps.reduce((sum, { from, to }) => sum + to - from, 0);
  const steps = isWhole ? path.steps : path.steps.slice(0, shownSteps);
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
          <table className="table">
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
                  <td className="number">{formatDuration(step.from - start)}</td>
                  <td className="number">{formatDuration(step.to - step.from)}</td>
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
      {path.steps.length > shownSteps && (
        <button type="button" className="show-all" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${path.steps.length} steps`}
        </button>
      )}
    </section>
  );
}

export function LongestTable({ timeline, moment, start }: { timeline: Timeline; moment: Moment; start: number }): ReactNode {
  const longest = longestSegments(timeline, moment, shownSegments);
  if (longest.length === 0) return null;
  return (
    <section className="tl-section" aria-labelledby="tl-longest-title">
      <h2 id="tl-longest-title">Longest segments</h2>
      <p className="muted">In all {formatPlural(timeline.lanes.size, 'run')}, without the time that runs waited for their children.</p>
      <div className="tl-table-scroll">
        <table className="table">
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
                <td className="number">{formatDuration(segment.to - segment.from)}</td>
                <td className="number">{formatDuration(segment.from - start)}</td>
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
}

function RunLink({ lane }: { lane: Lane | undefined }): ReactNode {
  return lane ? <Link to={`/runs/${lane.id}`}>{lane.name}</Link> : null;
}
