import { type ReactNode, useEffect, useState } from 'react';
import { useClient } from '../../data/context.tsx';
import { useResource } from '../../data/use-resource.ts';
import { setQuery, useRoute } from '../../router.tsx';
import { stateGroups } from './filter.ts';

const typingMs = 250;

export function FilterBar(): ReactNode {
  const { query } = useRoute();
  const state = query.get('state') ?? '';
  return (
    <search className="filter-bar">
      <TextFilter />
      <fieldset className="segments">
        <legend className="visually-hidden">State</legend>
        {[{ id: '', label: 'All' }, ...stateGroups].map(({ id, label }) => (
          <label key={id} className={id === state ? 'is-selected' : ''}>
            <input
              type="radio"
              name="state"
              className="visually-hidden"
              checked={id === state}
              onChange={() => setQuery({ state: id === '' ? null : id })}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <AgentFilter />
    </search>
  );
}

function TextFilter(): ReactNode {
  const asked = useRoute().query.get('text') ?? '';
  const [text, setText] = useState(asked);
  useEffect(() => setText(asked), [asked]);
  useEffect(() => {
    if (text === asked) return;
    const timer = setTimeout(() => setQuery({ text }), typingMs);
    return () => clearTimeout(timer);
  }, [text, asked]);
  return (
    <input
      className="input filter-text"
      type="search"
      data-filter
      aria-label="Filter trees by text"
      placeholder="Filter by label, task or id"
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}

function AgentFilter(): ReactNode {
  const client = useClient();
  const agent = useRoute().query.get('agent') ?? '';
  const { data: agents = [] } = useResource((signal) => client.agents({ signal }), [client]);
  const names = [...new Set([...agents.map(({ name }) => name), ...(agent === '' ? [] : [agent])])].sort();
  return (
    <select
      className="input filter-agent"
      aria-label="Agent"
      value={agent}
      onChange={(event) => setQuery({ agent: event.target.value || null })}
    >
      <option value="">All agents</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
