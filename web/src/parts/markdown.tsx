// Text of models with the formatting they use. Every part becomes a React element, so no text can become markup.
import { Fragment, memo, type ReactNode, useMemo, useState } from 'react';
import { sanitizeText } from '../../../src/text/terminal.ts';
import { type Block, type Inline, parseMarkdown } from './markdown-parse.ts';
import { CodeBlock, foldText, ShowAll } from './text.tsx';

/** Longer texts are shown without formatting. */
const maxFormatted = 200_000;

interface MarkdownProps {
  text: string;
  /** More lines are folded away until the user asks for them. */
  maxLines?: number;
}

export const Markdown = memo(function Markdown({ text, maxLines = 60 }: MarkdownProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const clean = useMemo(() => sanitizeText(text.trim()), [text]);
  const { shown, lines } = useMemo(() => foldText(clean, maxLines), [clean, maxLines]);
  const visible = isOpen ? clean : shown;
  const blocks = useMemo(() => (visible.length > maxFormatted ? null : parseMarkdown(visible)), [visible]);
  return (
    <div className="markdown">
      {blocks === null ? <pre className="plain">{visible}</pre> : <Blocks blocks={blocks} />}
      {lines > 0 && <ShowAll isOpen={isOpen} lines={lines} onToggle={() => setOpen(!isOpen)} />}
    </div>
  );
});

function Blocks({ blocks }: { blocks: Block[] }): ReactNode {
  return blocks.map((block, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a block is identified by its place in the text.
    <BlockView key={i} block={block} />
  ));
}

function BlockView({ block }: { block: Block }): ReactNode {
  switch (block.type) {
    case 'heading':
      // Headings of a text are no headings of the page.
      return (
        <p className={`md-heading md-heading-${block.level}`}>
          <Inlines parts={block.children} />
        </p>
      );
    case 'paragraph':
      return (
        <p>
          <Inlines parts={block.children} />
        </p>
      );
    case 'code':
      return <CodeBlock text={block.text} label={block.language === '' ? 'Code' : `Code: ${block.language}`} maxLines={40} canCopy />;
    case 'quote':
      return (
        <blockquote>
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case 'list':
      return <ListView block={block} />;
    case 'table':
      return <TableView block={block} />;
    case 'rule':
      return <hr />;
  }
}

function ListView({ block: { start, items } }: { block: Extract<Block, { type: 'list' }> }): ReactNode {
  const entries = items.map((item, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: an item is identified by its place in the text.
    <li key={i}>
      <Blocks blocks={item} />
    </li>
  ));
  return start === null ? <ul>{entries}</ul> : <ol start={start}>{entries}</ol>;
}

function TableView({ block: { head, rows } }: { block: Extract<Block, { type: 'table' }> }): ReactNode {
  return (
    <div className="md-table">
      <table className="table">
        <thead>
          <tr>
            {head.map((cell, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a cell is identified by its column.
              <th key={i} scope="col">
                <Inlines parts={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is identified by its place in the text.
            <tr key={i}>
              {row.map((cell, j) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a cell is identified by its column.
                <td key={j}>
                  <Inlines parts={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Inlines({ parts }: { parts: Inline[] }): ReactNode {
  return parts.map((part, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a part is identified by its place in the text.
    <Fragment key={i}>{typeof part === 'string' ? part : <InlineView part={part} />}</Fragment>
  ));
}

function InlineView({ part }: { part: Exclude<Inline, string> }): ReactNode {
  switch (part.type) {
    case 'code':
      return <code>{part.text}</code>;
    case 'strong':
      return (
        <strong>
          <Inlines parts={part.children} />
        </strong>
      );
    case 'emphasis':
      return (
        <em>
          <Inlines parts={part.children} />
        </em>
      );
    case 'strike':
      return (
        <s>
          <Inlines parts={part.children} />
        </s>
      );
    case 'link':
      return (
        <a href={part.href} title={part.href} target="_blank" rel="noopener noreferrer">
          <Inlines parts={part.children} />
        </a>
      );
  }
}
