// What a run was asked to do, and what it may do, with the reason for each limit and rule.
import type { ReactNode } from 'react';
import type { Brief } from '../../../../src/contract/brief.ts';
import type { Grant } from '../../../../src/contract/grant.ts';
import type { RunDetail } from '../../../../src/contract/view.ts';
import { sanitizeText } from '../../../../src/text/terminal.ts';
import { formatTime } from '../../parts/figures.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { EmptyState } from '../../parts/states.tsx';
import { Badge } from '../../parts/status.tsx';
import { CodeBlock } from '../../parts/text.tsx';
import { Link } from '../../router.tsx';
import { formatLimit, limitNames, sourceTexts } from './limit-texts.ts';

export function BriefTab({ detail }: { detail: RunDetail }): ReactNode {
  const { brief, grant } = detail;
  if (brief === null || grant === null)
    return (
      <EmptyState title="The brief was erased">
        <p>Only the numbers, times and hashes of this run remain.</p>
      </EmptyState>
    );
  return (
    <div className="brief">
      <BriefSection brief={brief} />
      <SetupSection detail={detail} grant={grant} />
      <LimitSection grant={grant} />
      <RuleSection grant={grant} added={detail.addedRules} />
    </div>
  );
}

function BriefSection({ brief }: { brief: Brief }): ReactNode {
  const { task, context, files = [], tools, result, tags = [], continues, continuesAt } = brief;
  return (
    <section aria-label="Brief">
      <h2>Brief</h2>
      <Markdown text={task} maxLines={40} />
      <dl className="facts">
        {context !== undefined && (
          <Row label="Context">
            <CodeBlock text={context} label="Context" maxLines={12} />
          </Row>
        )}
        {files.length > 0 && (
          <Row label="Files">
            {files.map((file) => (
              <code key={file}>{sanitizeText(file)}</code>
            ))}
          </Row>
        )}
        {tools?.allow !== undefined && <Row label="Only these tools">{tools.allow.join(', ') || 'none'}</Row>}
        {tools?.deny !== undefined && <Row label="Without these tools">{tools.deny.join(', ')}</Row>}
        {result !== undefined && (
          <Row label="Wanted result">
            <CodeBlock text={JSON.stringify(result, null, 2)} label="Wanted result" />
          </Row>
        )}
        {tags.length > 0 && (
          <Row label="Tags">
            {tags.map((tag) => (
              <Badge key={tag}>{tag}</Badge>
            ))}
          </Row>
        )}
        {continues !== undefined && (
          <Row label="Continues">
            <Link to={`/runs/${continues}`}>{continues}</Link>
            {continuesAt !== undefined && ` after turn ${continuesAt}`}
          </Row>
        )}
      </dl>
    </section>
  );
}

function SetupSection({ detail, grant }: { detail: RunDetail; grant: Grant }): ReactNode {
  const servers = Object.keys(detail.servers);
  return (
    <section aria-label="Setup">
      <h2>Setup</h2>
      <dl className="facts">
        <Row label="Workspace">
          <code>{sanitizeText(grant.workspace)}</code>
        </Row>
        <Row label="Tools">{grant.tools.length === 0 ? 'none' : grant.tools.map((tool) => <code key={tool}>{tool}</code>)}</Row>
        {detail.host !== null && (
          <Row label="Tools run">{detail.host === 'process' ? 'in a separate process' : 'in the process of the run'}</Row>
        )}
        {detail.pid !== null && <Row label="Process">{detail.pid}</Row>}
        {detail.deadline !== null && <Row label="Time limit ends">{formatTime(detail.deadline)}</Row>}
        {servers.length > 0 && <Row label="MCP servers">{servers.join(', ')}</Row>}
        {detail.taint.length > 0 && (
          <Row label="Has read from">
            {detail.taint.map((source) => (
              <Badge key={source}>{source}</Badge>
            ))}
          </Row>
        )}
        {detail.notices.length > 0 && (
          <Row label="Notices">
            {detail.notices.map((notice) => (
              <p key={notice}>{sanitizeText(notice)}</p>
            ))}
          </Row>
        )}
      </dl>
    </section>
  );
}

function LimitSection({ grant: { limits } }: { grant: Grant }): ReactNode {
  return (
    <section aria-label="Limits">
      <h2>Limits</h2>
      <table className="table limits">
        <thead>
          <tr>
            <th scope="col">Limit</th>
            <th scope="col">Value</th>
            <th scope="col">Comes from</th>
          </tr>
        </thead>
        <tbody>
          {limitNames.map(({ name, label }) => {
            const limit = limits[name];
            if (limit === undefined) return null;
            return (
              <tr key={name}>
                <td>{label}</td>
                <td className="figure">{formatLimit(name, limit.value)}</td>
                <td className="muted">{sourceTexts[limit.from]}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function RuleSection({ grant: { rulesets }, added }: { grant: Grant; added: string[] }): ReactNode {
  return (
    <section aria-label="Rules">
      <h2>Rules</h2>
      <p className="muted">
        The owner’s rules must allow a call; in a list, the last match counts. Every other list can only take permissions away.
      </p>
      {rulesets.map(({ kind, owner, rules, scope }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a grant does not change.
        <details key={i} className="details ruleset" open={kind === 'narrowing' && rules.length <= 10}>
          <summary>
            {kind === 'owner' ? 'Owner' : 'Narrows'}: {sanitizeText(owner)} <span className="muted">({rules.length})</span>
            {scope === 'own' && <span className="muted">, not for its children</span>}
            {scope === 'children' && <span className="muted">, for its children only</span>}
          </summary>
          <ol className="rules">
            {rules.map(({ action, tool, pattern, from }, j) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a grant does not change.
              <li key={j}>
                <code>
                  <span className={`rule-${action}`}>{action}</span> {sanitizeText(tool)}
                  {pattern !== null && `:${sanitizeText(pattern)}`}
                </code>
                {from !== undefined && <span className="muted"> {sanitizeText(from)}</span>}
              </li>
            ))}
          </ol>
        </details>
      ))}
      {added.length > 0 && (
        <details className="details ruleset" open>
          <summary>Added with messages ({added.length})</summary>
          <ol className="rules">
            {added.map((rule) => (
              <li key={rule}>
                <code>{sanitizeText(rule)}</code>
              </li>
            ))}
          </ol>
        </details>
      )}
    </section>
  );
}

function Row({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
