import { refuse } from './deny-command.ts';
import type { Node } from './parser.ts';

const plain = /^(?:\\?([\w.-]+)|'([\w.-]+)'|"([\w.-]+)")$/;
const instead = 'write the text to a file with the write tool, or pass it as an argument';

/**
 * Holds a here-document against bash's own way of reading it: the text begins on the line after the operator and ends at the first line
 * that is the delimiter. Gives the part in which bash expands nothing.
 */
export function checkHeredoc(source: string, node: Node, holes: Map<number, Node>): Node[] {
  const start = node.children.find(({ type }) => type === 'heredoc_start');
  const end = node.children.find(({ type }) => type === 'heredoc_end');
  const body = node.children.find(({ type }) => type === 'heredoc_body');
  const operator = node.children.find(({ type }) => type === '<<' || type === '<<-');
  const isOdd = operator && source.slice(operator.start, operator.end) !== operator.type;
  if (!start || !end || !operator || isOdd) return refuse('has a here-document that cannot be judged', instead);
  const raw = source.slice(start.start, start.end);
  const [, bare, single, double] = plain.exec(raw) ?? refuse('has an unusual here-document delimiter', 'use a plain word such as EOF');
  const delimiter = bare ?? single ?? double;
  const lineEnd = source.indexOf('\n', start.end);
  const line = source.slice(start.end, lineEnd);
  if (line.includes('<<') || line.endsWith('\\')) refuse('has several here-documents on one line', instead);
  // Quotes and substitutions that go on over the line end would put the text elsewhere.
  const opens = node.children.some(
    (child) => child.start > start.start && child.start <= lineEnd && child.end > lineEnd + 1 && child !== body,
  );
  if (lineEnd === -1 || opens) refuse('has a here-document that begins in the middle of something', instead);
  let at = lineEnd + 1;
  for (;;) {
    const next = source.indexOf('\n', at);
    const text = source.slice(at, next === -1 ? source.length : next);
    if ((operator.type === '<<-' ? text.replace(/^\t+/, '') : text) === delimiter) break;
    if (next === -1) return refuse('has a here-document without an end', `end it with a line that is only ${delimiter}`);
    at = next + 1;
  }
  const last = source.slice(at).length - source.slice(at).replace(/^\t+/, '').length + at;
  if (end.end !== last + (delimiter as string).length || (end.start !== at && end.start !== last)) {
    refuse('has a here-document that can be read in two ways', instead);
  }
  if (body && (body.start < lineEnd + 1 || body.end > last)) refuse('has a here-document that can be read in two ways', instead);
  const inside: Node = { type: 'heredoc_body', named: true, field: null, start: lineEnd + 1, end: at, children: [] };
  if (raw !== bare) return [inside];
  checkText(source, inside, holes);
  return [];
}

/** What bash expands in the text is expanded in the tree. */
function checkText(source: string, { start, end }: Node, holes: Map<number, Node>): void {
  for (let at = start; at < end; at++) {
    const char = source[at];
    const next = source[at + 1] ?? '';
    const hole = holes.get(at);
    if (hole !== undefined) at = hole.end - 1;
    else if (char === '\\') {
      if (next === '\n') refuse('continues a line inside a here-document', `quote its delimiter: <<'EOF'`);
      at++;
    } else if (char === '`' || (char === '$' && /[\w{(?!#@*$[-]/.test(next))) {
      refuse('has an expansion in a here-document that cannot be judged', `quote its delimiter: <<'EOF'`);
    }
  }
}
