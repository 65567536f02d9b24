import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { isRemoteError } from '../../../src/client/error.ts';
import { useClient, useMissingRole } from '../data/context.tsx';
import { useResource } from '../data/use-resource.ts';
import { Button } from '../parts/button.tsx';
import { Page } from '../parts/page.tsx';
import { EmptyState, ErrorState, Loading } from '../parts/states.tsx';
import { navigate } from '../router.tsx';
import { loadDraft, saveDraft } from './start/draft.ts';
import { errorToField, type FieldErrors, type Field as FieldName, formToBrief, type StartForm } from './start/form.ts';
import { Permissions } from './start/permissions.tsx';
import { StartFields } from './start/start-form.tsx';
import './start/start.css';

export function StartPage(): ReactNode {
  const missing = useMissingRole('start');
  return (
    <Page title="Start a run">
      {missing === null ? (
        <StartRun />
      ) : (
        <EmptyState title="Your link cannot start runs" command={'retinue run "What is in this folder?"'}>
          <p>{missing}</p>
          <p>Ask the person who runs the server for such a token, or start the run in a terminal in the workspace:</p>
        </EmptyState>
      )}
    </Page>
  );
}

function StartRun(): ReactNode {
  const client = useClient();
  const agents = useResource((signal) => client.agents({ signal }), [client]);
  // Looking for models can take a while, and the form works without them.
  const { data: models = [] } = useResource((signal) => client.models({ signal }), [client]);
  const [form, setForm] = useState(loadDraft);
  const [errors, setErrors] = useState<FieldErrors>({});
  const [problem, setProblem] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => saveDraft(form), [form]);

  const show = (found: FieldErrors) => {
    setErrors(found);
    const [first] = Object.keys(found);
    // After the next render, when the part of the form that has it is open.
    if (first !== undefined) setTimeout(() => element.current?.querySelector<HTMLElement>(`[name="${first}"]`)?.focus());
  };
  const change = (field: FieldName, value: string) => {
    setErrors(({ [field]: _, ...others }) => others);
    setForm((old) => ({ ...old, [field]: value, ...(field === 'agent' ? { denied: [] } : {}) }));
  };
  const start = async (given: StartForm) => {
    const { brief, errors: found } = formToBrief(given);
    setProblem(null);
    if (Object.keys(found).length > 0) return show(found);
    setErrors({});
    setBusy(true);
    try {
      const { runId } = await client.start(brief);
      saveDraft(null);
      navigate(`/trees/${runId}`);
    } catch (error) {
      const field = isRemoteError(error) ? errorToField(error) : null;
      if (field === null) setProblem(error as Error);
      else show({ [field]: (error as Error).message });
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isBusy) void start(form);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };

  if (agents.error !== null) return <ErrorState error={agents.error} retry={agents.reload} />;
  if (agents.data === undefined) return <Loading label="Loading agents" />;
  const agent = agents.data.find(({ name }) => name === form.agent);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Ctrl+Enter in any field starts the run.
    <div className="start" ref={element} onKeyDown={press}>
      <form className="start-form" onSubmit={submit} noValidate>
        <StartFields {...{ form, errors, models }} agents={agents.data} onChange={change} />
        {problem !== null && (
          <p role="alert" className="field-error">
            {problem.message}
          </p>
        )}
        <div className="start-actions">
          <Button type="submit" variant="primary" isBusy={isBusy}>
            {isBusy ? 'Starting…' : 'Start the run'}
          </Button>
          <span className="muted start-keys">
            <kbd>Ctrl</kbd> <kbd>Enter</kbd>
          </span>
        </div>
      </form>
      {agent && (
        <Permissions
          key={agent.name}
          agent={agent}
          denied={form.denied}
          onDenied={(denied) => {
            setErrors(({ denied: _, ...others }) => others);
            setForm((old) => ({ ...old, denied }));
          }}
          error={errors.denied}
          hasRules={form.rules.trim() !== ''}
        />
      )}
    </div>
  );
}
