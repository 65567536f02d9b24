// Text with colours of a terminal (SGR sequences, as tmux writes them) as HTML. Every other escape sequence is dropped.
export interface Palette {
  background: string;
  foreground: string;
  dim: string;
  /** Black, red, green, yellow, blue, magenta, cyan, white. Bright colours use the same. */
  colors: string[];
}

interface Style {
  color?: string | undefined;
  background?: string | undefined;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  inverse?: boolean;
}

export function ansiToHtml(text: string, palette: Palette): string {
  let style: Style = {};
  let html = '';
  for (const part of text.trimEnd().split(/(\x1b\[[\d;:]*m)/)) {
    const codes = /^\x1b\[([\d;:]*)m$/.exec(part)?.[1];
    if (codes === undefined) html += renderText(part.replace(/\x1b(\[[^a-zA-Z]*[a-zA-Z]|.)/g, ''), style, palette);
    else style = applyCodes(style, codes, palette);
  }
  return html;
}

function applyCodes(before: Style, codes: string, palette: Palette): Style {
  let style = { ...before };
  const numbers = codes.split(/[;:]/).map(Number);
  while (numbers.length > 0) {
    const code = numbers.shift() as number;
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 22) Object.assign(style, { bold: false, dim: false });
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 27) style.inverse = false;
    else if (code === 39) style.color = undefined;
    else if (code === 49) style.background = undefined;
    else if (code === 38) style.color = readColor(numbers, palette);
    else if (code === 48) style.background = readColor(numbers, palette);
    else if (code >= 90 && code <= 97) style.color = code === 90 ? palette.dim : palette.colors[code - 90];
    else if (code >= 30 && code <= 37) style.color = palette.colors[code - 30];
    else if (code >= 40 && code <= 47) style.background = palette.colors[code - 40];
  }
  return style;
}

/** `5;N` or `2;R;G;B`; takes what it reads from the list. */
function readColor(numbers: number[], { colors, dim }: Palette): string | undefined {
  if (numbers.shift() === 2) return `rgb(${numbers.splice(0, 3).join(' ')})`;
  const index = numbers.shift() ?? 0;
  if (index === 8) return dim;
  if (index < 16) return colors[index % 8];
  if (index >= 232)
    return `rgb(${Array(3)
      .fill(8 + 10 * (index - 232))
      .join(' ')})`;
  const level = (n: number) => (n === 0 ? 0 : 55 + 40 * n);
  const cube = index - 16;
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}

function renderText(text: string, style: Style, palette: Palette): string {
  const escaped = text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
  const color = style.inverse ? (style.background ?? palette.background) : (style.color ?? (style.dim ? palette.dim : undefined));
  const background = style.inverse ? (style.color ?? palette.foreground) : style.background;
  const css = [
    ...(color === undefined ? [] : [`color:${color}`]),
    ...(background === undefined ? [] : [`background:${background}`]),
    ...(style.bold ? ['font-weight:bold'] : []),
    ...(style.italic ? ['font-style:italic'] : []),
    ...(style.underline ? ['text-decoration:underline'] : []),
    ...(style.dim && style.color !== undefined ? ['opacity:.65'] : []),
  ];
  return css.length === 0 || escaped === '' ? escaped : `<span style="${css.join(';')}">${escaped}</span>`;
}
