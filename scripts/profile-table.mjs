// Turns a .cpuprofile of `node --cpu-prof` into a table of self time by function and by file: `node scripts/profile-table.mjs FILE [LINES]`.
// With `--flame OUT.svg` it also draws a flame graph.
import { readFileSync, writeFileSync } from 'node:fs';

const [file, ...rest] = process.argv.slice(2);
const flameAt = rest.indexOf('--flame');
const flame = flameAt === -1 ? null : rest[flameAt + 1];
const lines = Number(rest.find((each) => /^\d+$/.test(each)) ?? 40);
const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8'));
const byId = new Map(nodes.map((node) => [node.id, node]));
const self = new Map();
let total = 0;
// Samples count the same: a longer one is mostly time in which another process had the processor.
const interval = timeDeltas.toSorted((a, b) => a - b)[timeDeltas.length >> 1];
for (const id of samples) {
  const { functionName } = byId.get(id).callFrame;
  if (functionName === '(idle)') continue;
  self.set(id, (self.get(id) ?? 0) + interval);
  total += interval;
}

/** Paths from `src/`, `bench/` or the name of the package. */
function shorten(url) {
  return url
    .replace(/^file:\/\//, '')
    .replace(/^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/.*$/, '$1')
    .replace(/^.*\/((?:src|bench|dist|test)\/.*)$/, '$1');
}

function sumBy(name) {
  const sums = new Map();
  for (const [id, time] of self) {
    const key = name(byId.get(id).callFrame);
    sums.set(key, (sums.get(key) ?? 0) + time);
  }
  return [...sums].sort((a, b) => b[1] - a[1]);
}

function print(title, sums) {
  console.log(`\n${title}`);
  for (const [name, time] of sums.slice(0, lines)) console.log(`${((time / total) * 100).toFixed(1).padStart(5)} %  ${name}`);
}

console.log(`${(total / 1000).toFixed(0)} ms of processor time`);
print(
  'by file',
  sumBy(({ url, functionName }) => (url === '' ? functionName || '(native)' : shorten(url))),
);
print(
  'by function',
  sumBy(({ url, functionName, lineNumber }) => `${functionName || '(anonymous)'}  ${shorten(url)}:${lineNumber + 1}`),
);

if (flame) writeFileSync(flame, drawFlame());

/** Nodes below 0.4 % are left out, so that the picture stays small. */
function drawFlame() {
  const width = 1200;
  const rowHeight = 16;
  const sums = new Map();
  const sum = (node) => {
    const own = (self.get(node.id) ?? 0) + (node.children ?? []).reduce((all, id) => all + sum(byId.get(id)), 0);
    sums.set(node.id, own);
    return own;
  };
  const root = nodes[0];
  sum(root);
  const boxes = [];
  let deepest = 0;
  const place = (node, x, depth) => {
    const share = sums.get(node.id) / total;
    if (share < 0.004) return;
    deepest = Math.max(deepest, depth);
    const { functionName, url } = node.callFrame;
    boxes.push({ x: x * width, depth, w: share * width, name: functionName || '(anonymous)', url: shorten(url), share });
    let at = x;
    for (const id of node.children ?? []) {
      place(byId.get(id), at, depth + 1);
      at += sums.get(id) / total;
    }
  };
  place(root, 0, 0);
  const height = (deepest + 1) * rowHeight;
  const escapeXml = (text) => text.replace(/[<>&"]/g, (char) => `&#${char.charCodeAt(0)};`);
  const color = ({ url, name }) =>
    name.startsWith('(') ? '#b8b8b8' : url.startsWith('node:') || url === '' ? '#e8c27a' : url.startsWith('src/') ? '#8fb8e8' : '#b9dba3';
  const draw = (box) => {
    const y = height - (box.depth + 1) * rowHeight;
    const text =
      box.w > 40 ? `<text x="${(box.x + 2).toFixed(0)}" y="${y + 12}">${escapeXml(box.name.slice(0, Math.floor(box.w / 6.5)))}</text>` : '';
    const title = `<title>${escapeXml(`${box.name} ${box.url} ${(box.share * 100).toFixed(1)} %`)}</title>`;
    return `<g>${title}<rect x="${box.x.toFixed(1)}" y="${y}" width="${Math.max(0.5, box.w - 0.5).toFixed(1)}" height="${rowHeight - 1}" fill="${color(box)}"/>${text}</g>`;
  };
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="10"><title>Flame graph</title>${boxes.map(draw).join('')}</svg>\n`;
}
