// What is enforced for an external agent, and what is only the agent's own word.

export interface Enforcement {
  /** Whether its model calls go through the model gate. Otherwise it uses its own login. */
  isGated: boolean;
  isConfined: boolean;
  /** Whether the rules of the run allow the network. */
  canUseNetwork: boolean;
}

/** `retinue`: by the process that drives the run. `agent`: nothing but the agent's own word. */
export type Enforcer = 'gate' | 'sandbox' | 'retinue' | 'agent';

export interface KeptPromise {
  promise: 'rules' | 'approvals' | 'budget' | 'tokens' | 'key' | 'files' | 'network' | 'processes' | 'deadline';
  by: Enforcer;
  how: string;
}

/** One entry for each promise, for `retinue agents` and `agents explain`. */
export function listPromises({ isGated, isConfined, canUseNetwork }: Enforcement): KeptPromise[] {
  const asked = 'only calls that it asks about; the run fails if it reports another one that the rules deny';
  const network: KeptPromise =
    isConfined && isGated && !canUseNetwork
      ? { promise: 'network', by: 'sandbox', how: 'the model gate is its only way out' }
      : { promise: 'network', by: 'agent', how: describeOpenNetwork({ isGated, isConfined }) };
  return [
    isGated
      ? { promise: 'rules', by: 'gate', how: 'an answer with a denied call does not reach it' }
      : { promise: 'rules', by: 'agent', how: asked },
    isGated
      ? { promise: 'approvals', by: 'gate', how: 'an answer is withheld until its calls are approved' }
      : { promise: 'approvals', by: 'agent', how: asked },
    isGated
      ? { promise: 'budget', by: 'gate', how: 'reserved before each model call' }
      : { promise: 'budget', by: 'agent', how: 'no model call can be stopped' },
    isGated
      ? { promise: 'tokens', by: 'gate', how: 'as the provider counts them, with their cost' }
      : { promise: 'tokens', by: 'agent', how: 'as it reports them; the cost is unknown' },
    isGated
      ? { promise: 'key', by: 'gate', how: 'it gets a token of this session, never the API key' }
      : { promise: 'key', by: 'agent', how: 'it has its own login' },
    isConfined
      ? { promise: 'files', by: 'sandbox', how: 'only its own copy of the files and its home are writable' }
      : { promise: 'files', by: 'agent', how: 'it works on its own copy, and nothing keeps it there' },
    network,
    isConfined
      ? { promise: 'processes', by: 'sandbox', how: 'all of them end with the run' }
      : { promise: 'processes', by: 'retinue', how: 'found by their group, their descent and a mark, and ended with the run' },
    { promise: 'deadline', by: 'retinue', how: 'asked to stop, killed after 2 s' },
  ];
}

function describeOpenNetwork({ isGated, isConfined }: Pick<Enforcement, 'isGated' | 'isConfined'>): string {
  if (!isConfined) return 'there is no sandbox';
  return isGated ? 'open, because the rules allow the network' : 'open, because its own login needs it';
}

/** `no`: nothing enforces it. */
export type Enforced = 'yes' | "agent's word" | 'no';

/** The promises that differ between agents and machines. The keys are a contract of `agents --json`. */
export interface EnforcedPromises {
  rules: Enforced;
  budget: Enforced;
  tokens: Enforced;
  key: Enforced;
  writes: Enforced;
  network: Enforced;
  processes: Enforced;
}

export function summarizePromises({ isGated, isConfined, canUseNetwork }: Enforcement): EnforcedPromises {
  const enforcedIf = (is: boolean) => (is ? 'yes' : 'no');
  return {
    rules: isGated ? 'yes' : "agent's word",
    budget: enforcedIf(isGated),
    tokens: isGated ? 'yes' : "agent's word",
    key: enforcedIf(isGated),
    writes: enforcedIf(isConfined),
    network: enforcedIf(isConfined && isGated && !canUseNetwork),
    processes: 'yes',
  };
}

/** A sentence for each group of promises that only the agent keeps in this session. They are part of the outcome. */
export function describeLimits({ isGated, isConfined, canUseNetwork }: Enforcement): string[] {
  return [
    ...(isGated
      ? []
      : [
          'it uses its own login, so tokens are as the agent reports them, the cost is unknown, and no budget stops a model call',
          'it uses its own login, so rules apply only to calls that it asks about',
        ]),
    ...(isConfined ? [] : ['there is no sandbox, so nothing but its own conduct keeps it to the workspace and off the network']),
    ...(isConfined && isGated && canUseNetwork ? ['the rules allow the network, so the model gate is not its only way out'] : []),
    ...(isConfined && !isGated ? ['it has the network, because its own login needs it'] : []),
  ];
}
