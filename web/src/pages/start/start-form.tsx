// The fields of the form. What is not needed for most runs is folded away, unless it has content or an error.
import type { ReactNode } from 'react';
import type { Agent } from '../../../../src/contract/agent.ts';
import { sanitizeLine } from '../../../../src/text/terminal.ts';
import { formatDuration } from '../../../../src/views/format.ts';
import type { useClient } from '../../data/context.tsx';
import { Field } from './field.tsx';
import type { FieldErrors, Field as FieldName, StartForm } from './form.ts';

type ListedModel = Awaited<ReturnType<ReturnType<typeof useClient>['models']>>[number];

export interface StartFieldsProps {
  form: StartForm;
  errors: FieldErrors;
  agents: Agent[];
  models: ListedModel[];
  onChange(field: FieldName, value: string): void;
}

export function StartFields({ form, errors, agents, models, onChange }: StartFieldsProps): ReactNode {
  const input = (name: Exclude<FieldName, 'denied'>) => ({
    value: form[name],
    className: 'input',
    onChange: (event: { target: { value: string } }) => onChange(name, event.target.value),
  });
  const chosen = agents.find(({ name }) => name === form.agent);
  const isUsed = (...names: FieldName[]) => names.some((name) => errors[name] !== undefined || form[name].length > 0);
  return (
    <>
      <Field name="task" label="Task" error={errors.task}>
        {(attributes) => (
          <textarea
            {...attributes}
            {...input('task')}
            rows={6}
            placeholder="What should be done, and how will you know that it is done?"
            required
          />
        )}
      </Field>
      <div className="start-pair">
        <Field name="agent" label="Agent" error={errors.agent} hint={chosen && sanitizeLine(chosen.description)}>
          {(attributes) => (
            <select {...attributes} {...input('agent')}>
              {chosen === undefined && <option value={form.agent}>{form.agent}</option>}
              {agents.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field name="model" label="Model" error={errors.model} hint={modelHint(form.model, chosen, models)}>
          {(attributes) => (
            <>
              <input
                {...attributes}
                {...input('model')}
                list="start-models"
                placeholder={defaultModel(chosen, models)}
                autoComplete="off"
                spellCheck={false}
              />
              <datalist id="start-models">
                {models.map(({ name, reason }) => (
                  <option key={name} value={name}>
                    {reason}
                  </option>
                ))}
              </datalist>
            </>
          )}
        </Field>
      </div>
      <details className="start-more" open={isUsed('context', 'files', 'label') || undefined}>
        <summary>Context and files</summary>
        <Field name="context" label="Context" error={errors.context} hint="Background that the agent reads with the task.">
          {(attributes) => <textarea {...attributes} {...input('context')} rows={4} />}
        </Field>
        <Field
          name="files"
          label="Files"
          error={errors.files}
          hint="One path per line, in the workspace of the server. They are read into the first message."
        >
          {(attributes) => (
            <textarea {...attributes} {...input('files')} rows={3} placeholder={'README.md\nsrc/main.ts'} spellCheck={false} />
          )}
        </Field>
        <Field name="label" label="Label" error={errors.label} hint="A short name for lists; without one, the agent’s name is shown.">
          {(attributes) => <input {...attributes} {...input('label')} maxLength={200} />}
        </Field>
      </details>
      <details className="start-more" open={isUsed('maxTurns', 'timeout', 'maxCostUsd', 'maxTokens') || undefined}>
        <summary>Limits</summary>
        <p className="field-hint muted">Empty fields use the limits of the agent and of the configuration. A time is 90s, 10m or 1h30m.</p>
        <div className="start-limits">
          <Field name="maxTurns" label="Turns" error={errors.maxTurns}>
            {(attributes) => (
              <input {...attributes} {...input('maxTurns')} inputMode="numeric" placeholder={placeholder(chosen?.limits?.maxTurns)} />
            )}
          </Field>
          <Field name="timeout" label="Time" error={errors.timeout}>
            {(attributes) => (
              <input
                {...attributes}
                {...input('timeout')}
                placeholder={chosen?.limits?.timeoutMs === undefined ? placeholder() : formatDuration(chosen.limits.timeoutMs)}
              />
            )}
          </Field>
          <Field name="maxCostUsd" label="Cost of the tree, $" error={errors.maxCostUsd}>
            {(attributes) => (
              <input {...attributes} {...input('maxCostUsd')} inputMode="decimal" placeholder={placeholder(chosen?.limits?.maxCostUsd)} />
            )}
          </Field>
          <Field name="maxTokens" label="Tokens of the tree" error={errors.maxTokens}>
            {(attributes) => (
              <input {...attributes} {...input('maxTokens')} inputMode="numeric" placeholder={placeholder(chosen?.limits?.maxTokens)} />
            )}
          </Field>
        </div>
      </details>
      <details className="start-more" open={isUsed('rules', 'schema') || undefined}>
        <summary>Rules and result</summary>
        <Field
          name="rules"
          label="Rules"
          error={errors.rules}
          hint={
            <>
              One per line, such as <code>deny bash</code> or <code>ask write:src/*</code>. Rules of a run only narrow what it may do.
            </>
          }
        >
          {(attributes) => <textarea {...attributes} {...input('rules')} rows={3} spellCheck={false} />}
        </Field>
        <Field
          name="schema"
          label="Result schema"
          error={errors.schema}
          hint="A JSON Schema of an object. The run ends with data that fits it."
        >
          {(attributes) => (
            <textarea
              {...attributes}
              {...input('schema')}
              className="input mono"
              rows={5}
              spellCheck={false}
              placeholder={'{"type": "object", "properties": {"risk": {"type": "string"}}}'}
            />
          )}
        </Field>
      </details>
    </>
  );
}

/** The agent's own limit, if it has one. That of the configuration is not known here. */
function placeholder(limit?: number): string {
  return limit === undefined ? 'default' : limit.toLocaleString('en');
}

function defaultModel(agent: Agent | undefined, models: ListedModel[]): string {
  const own = Array.isArray(agent?.model) ? agent.model[0] : agent?.model;
  return own ?? models.find(({ isDefault }) => isDefault)?.name ?? 'default of the configuration';
}

function modelHint(typed: string, agent: Agent | undefined, models: ListedModel[]): string | undefined {
  const name = typed.trim() === '' ? defaultModel(agent, models) : typed.trim();
  const model = models.find((each) => each.name === name);
  if (!model) return undefined;
  const price = model.price ? `$${model.price.input} per million tokens in, $${model.price.output} out` : 'price unknown';
  return typed.trim() === '' ? `Default: ${model.name}, ${price}` : price;
}
