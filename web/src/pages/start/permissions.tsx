// What the chosen agent may do: its tools with the decision of the rules for each, and a test of a single call.
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import type { Agent } from '../../../../src/contract/agent.ts';
import { sanitizeLine } from '../../../../src/text/terminal.ts';
import { useClient } from '../../data/context.tsx';
import { useResource } from '../../data/use-resource.ts';
import { Button } from '../../parts/button.tsx';
import { Badge, type Tone } from '../../parts/status.tsx';

type Verdict = Awaited<ReturnType<ReturnType<typeof useClient>['policy']>>;

const actions: Record<Verdict['action'], { text: string; tone: Tone }> = {
  allow: { text: 'allowed', tone: 'ok' },
  ask: { text: 'asks you first', tone: 'warning' },
  deny: { text: 'denied', tone: 'error' },
};

/** Names with a star stand for tools of MCP servers, whose names are not known here. */
const isPattern = (tool: string) => tool.includes('*');

export interface PermissionsProps {
  agent: Agent;
  denied: string[];
  onDenied(denied: string[]): void;
  error?: string | undefined;
  /** The user wrote rules of their own, which are not part of the decisions shown. */
  hasRules: boolean;
}

export function Permissions({ agent, denied, onDenied, error, hasRules }: PermissionsProps): ReactNode {
  const client = useClient();
  const tools = (agent.tools ?? []).filter((tool) => !agent.disallowedTools?.includes(tool));
  const { data: verdicts = [] } = useResource(
    (signal) =>
      Promise.all(
        tools
          .filter((tool) => !isPattern(tool))
          .map((call) => (signal.aborted ? null : client.policy({ call, agent: agent.name }).catch(() => null))),
      ),
    [client, agent.name],
  );
  const toggle = (tool: string) => onDenied(denied.includes(tool) ? denied.filter((each) => each !== tool) : [...denied, tool]);
  const notes = [...new Set(verdicts.flatMap((verdict) => verdict?.notes.map((note) => `${verdict.tool}: ${note}`) ?? []))];
  return (
    <section className="card start-rights" aria-labelledby="start-rights">
      <h2 id="start-rights">What it may do</h2>
      {agent.tools === undefined && <p>It may use every tool, within the rules of the workspace.</p>}
      {agent.tools?.length === 0 && <p>It has no tools: it can only answer.</p>}
      {tools.length > 0 && (
        <fieldset className="tool-list">
          <legend className="muted">Its tools. Clear a box to take one away from this run.</legend>
          {tools.map((tool) => (
            <Tool
              key={tool}
              tool={tool}
              verdict={verdicts.find((verdict) => verdict?.tool === tool) ?? null}
              hasExceptions={hasExceptions(agent.rules ?? [], tool)}
              isDenied={denied.includes(tool)}
              onToggle={() => toggle(tool)}
            />
          ))}
        </fieldset>
      )}
      {error !== undefined && <p className="field-error">{error}</p>}
      {agent.rules !== undefined && (
        <details className="rule-list">
          <summary>Its own rules ({agent.rules.length}), the last match counts</summary>
          <ul>
            {[...new Set(agent.rules)].map((rule) => (
              <li key={rule}>
                <code>{sanitizeLine(rule)}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
      {notes.map((note) => (
        <p key={note} className="muted rule-list">
          {sanitizeLine(note)}
        </p>
      ))}
      {hasRules && <p className="muted">Your rules for this run narrow this further.</p>}
      <CallTest agent={agent.name} />
    </section>
  );
}

interface ToolProps {
  tool: string;
  verdict: Verdict | null;
  hasExceptions: boolean;
  isDenied: boolean;
  onToggle(): void;
}

function Tool({ tool, verdict, hasExceptions: isPartial, isDenied, onToggle }: ToolProps): ReactNode {
  return (
    <label className={isDenied ? 'tool-line is-off' : 'tool-line'}>
      <input type="checkbox" name="denied" checked={!isDenied} onChange={onToggle} disabled={isPattern(tool)} />
      <code>{isPattern(tool) ? 'tools of MCP servers' : sanitizeLine(tool)}</code>
      {isDenied ? (
        <Badge>taken away</Badge>
      ) : isPartial ? (
        <Badge tone="warning">some calls only</Badge>
      ) : (
        verdict && <VerdictBadge verdict={verdict} />
      )}
    </label>
  );
}

/** The rules of an agent decide calls of a tool by their arguments, so that no single answer fits. */
function hasExceptions(rules: string[], tool: string): boolean {
  return rules.some((rule) => rule.trim().split(/\s+/)[1]?.startsWith(`${tool}:`));
}

function VerdictBadge({ verdict: { action, rule, owner, refused } }: { verdict: Verdict }): ReactNode {
  const { text, tone } = actions[action];
  return (
    <Badge tone={tone} title={sanitizeLine(refused ?? `${rule} (${owner})`)}>
      {text}
    </Badge>
  );
}

/** Asks the server how it would decide a call, as `retinue policy test` does. */
function CallTest({ agent }: { agent: string }): ReactNode {
  const client = useClient();
  const id = useId();
  const [call, setCall] = useState('');
  const [result, setResult] = useState<Verdict | Error | null>(null);
  const check = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    if (call.trim() === '') return;
    client.policy({ call: call.trim(), agent }).then(setResult, setResult);
  };
  return (
    <form className="call-test" onSubmit={check}>
      <label htmlFor={id} className="field-label">
        Test a call
      </label>
      <div className="call-test-line">
        <input
          id={id}
          className="input"
          placeholder="bash:npm test"
          value={call}
          onChange={(event) => {
            setCall(event.target.value);
            setResult(null);
          }}
        />
        <Button type="submit">Test</Button>
      </div>
      <p role="status">
        {result instanceof Error && <span className="field-error">{result.message}</span>}
        {result !== null && !(result instanceof Error) && (
          <>
            <VerdictBadge verdict={result} />{' '}
            {result.offered
              ? sanitizeLine(result.refused ?? `by the rule “${result.rule}” of ${result.owner}`)
              : `${agent} does not have this tool`}
          </>
        )}
      </p>
    </form>
  );
}
