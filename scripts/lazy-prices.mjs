// Changes the price table of @pydantic/genai-prices when it is bundled: the models of each provider become a JSON file, which is read when they are first
// looked at; the units of prices are related to each other when they are used, not all with all others at the start; and their names are sorted without
// the rules of a language, which Node would have to load. Together this costs 30 ms at every start, and a run needs one provider and a handful of units.

const tableStart = 'const E = [';

const relateAll = `this.#o.set(
        a,
        new Set(
          [...this.#e.values()].filter((o) => o !== i && $(o, i)).map((o) => o.usageKey)
        )
      ), a !== "requests"`;
const readRelated = 'const a = this.#o.get(t);';
const relateOne = `const i = this.#e.get(t);
    const related = () => new Set([...this.#e.values()].filter((o) => o !== i && $(o, i)).map((o) => o.usageKey));
    if (i && !this.#o.has(t)) this.#o.set(t, related());
    const a = this.#o.get(t);`;

const unitsStart = '\n], J = ';
const unitsEnd = '\n};';
/** The text only identifies a unit. */
const dimensionOrder = '.sort(([t], [a]) => t.localeCompare(a))';
const plainOrder = '.sort(([t], [a]) => (t < a ? -1 : 1))';
const unitOrder = 'n.usageKey.localeCompare(s.usageKey)';
const knownOrder = 'unitRanks.get(n.usageKey) - unitRanks.get(s.usageKey)';

/** The source of the module, and its files by name. Throws if the package has another form, so that a new version is noticed. */
export function makePricesLazy(source) {
  const end = source.indexOf(unitsStart);
  if (
    !source.startsWith(tableStart) ||
    [unitsStart, relateAll, readRelated, dimensionOrder, unitOrder].some((part) => source.split(part).length !== 2)
  )
    throw new Error('@pydantic/genai-prices has another form than expected: adapt scripts/lazy-prices.mjs');
  const evaluate = (text) => new Function(`return ${text}`)();
  const providers = evaluate(`[${source.slice(tableStart.length, end)}]`);
  const afterTable = source.slice(end + unitsStart.length);
  const units = Object.keys(evaluate(`(${afterTable.slice(0, afterTable.indexOf(unitsEnd))}})`)).sort((a, b) => a.localeCompare(b));
  const files = new Map(providers.map(({ id, models }) => [`${id}.json`, JSON.stringify(models)]));
  const heads = providers.map(({ models: _, ...head }) => head);
  // Chunks are one folder below dist/.
  const table = `import { readFileSync } from 'node:fs';
const unitRanks = new Map(${JSON.stringify(units.map((unit, rank) => [unit, rank]))});
const E = JSON.parse(${JSON.stringify(JSON.stringify(heads))}).map((provider) => {
  let models;
  const read = () => JSON.parse(readFileSync(new URL(\`../prices/\${provider.id}.json\`, import.meta.url), 'utf8'));
  return Object.defineProperty(provider, 'models', { enumerable: true, get: () => (models ??= read()) });
}), J = `;
  const rest = afterTable
    .replace(relateAll, 'a !== "requests"')
    .replace(readRelated, () => relateOne)
    .replace(dimensionOrder, plainOrder)
    .replace(unitOrder, knownOrder);
  return { code: table + rest, files };
}

/** For rolldown. */
export const lazyPrices = {
  name: 'lazy-prices',
  transform(source, id) {
    if (!/genai-prices\/dist\/index\.js$/.test(id)) return null;
    const { code, files } = makePricesLazy(source);
    for (const [name, text] of files) this.emitFile({ type: 'asset', fileName: `prices/${name}`, source: text });
    return { code, map: null };
  },
};
