// Draws the frames of a screen with ink and passes keys to it.
import { Box, type Key as InkKey, Text, useInput, usePaste, useWindowSize } from 'ink';
import { memo, type ReactNode, useEffect, useSyncExternalStore } from 'react';
import type { Key } from './screen/key.ts';
import type { Screen } from './screen/screen.ts';

export interface AppProps {
  screen: Screen;
  onSuspend: () => void;
  /** Draws everything again: another program may have written to the terminal. */
  onRedraw: () => void;
}

export function App({ screen, onSuspend, onRedraw }: AppProps): ReactNode {
  const lines = useSyncExternalStore(screen.subscribe, screen.lines);
  const { columns, rows } = useWindowSize();
  useEffect(() => screen.resize({ columns, rows }), [screen, columns, rows]);
  useInput((input, key) => {
    const keys = parseKeys(input, key);
    if (keys.includes('ctrl-z')) onSuspend();
    else if (keys.includes('ctrl-l')) onRedraw();
    else if (keys.length > 0) screen.press(...keys);
  });
  usePaste((text) => screen.paste(text));
  return (
    <Box flexDirection="column" height={lines.length}>
      {lines.map((line, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is identified by its place on the screen.
        <Line key={i} text={line} />
      ))}
    </Box>
  );
}

/** Only lines that differ are laid out again. */
const Line = memo(function Line({ text }: { text: string }): ReactNode {
  return (
    <Box height={1} flexShrink={0}>
      <Text wrap="truncate">{text === '' ? ' ' : text}</Text>
    </Box>
  );
});

const named: [keyof InkKey, Key][] = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'escape'],
  ['backspace', 'backspace'],
  ['delete', 'delete'],
];

/** The rest of a sequence whose escape character arrived alone, on a slow connection: its letters are no keys. */
const unknownSequence = /^\[[0-?]*[ -/]*[@-~]$/;

/** Several characters that arrive together are several keys. */
function parseKeys(input: string, key: InkKey): Key[] {
  for (const [property, name] of named) if (key[property] === true) return [name];
  if (key.tab) return [key.shift ? 'shift-tab' : 'tab'];
  if (key.ctrl) return [`ctrl-${input.toLowerCase()}`];
  // A letter with Alt is no command, and the letters of a sequence are none either.
  if (key.meta || unknownSequence.test(input)) return [];
  return [...input].map((character) => characterKeys[character] ?? character);
}

const characterKeys: Record<string, Key> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x03': 'ctrl-c',
  '\x1a': 'ctrl-z',
};
