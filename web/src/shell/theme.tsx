import { type ReactNode, useState } from 'react';

type Theme = 'auto' | 'light' | 'dark';
const themes: { id: Theme; label: string; glyph: string }[] = [
  { id: 'auto', label: 'Theme of the system', glyph: '◐' },
  { id: 'light', label: 'Light', glyph: '☀' },
  { id: 'dark', label: 'Dark', glyph: '☾' },
];
/** Also read by theme.js. */
const storageKey = 'retinue.theme';

function readTheme(): Theme {
  const { theme } = document.documentElement.dataset;
  return theme === 'light' || theme === 'dark' ? theme : 'auto';
}

function applyTheme(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === 'auto') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // Without storage, the choice lasts until the page is loaded again.
  }
}

export function ThemeToggle(): ReactNode {
  const [theme, setTheme] = useState(readTheme);
  return (
    <div className="theme-toggle" role="radiogroup" aria-label="Theme">
      {themes.map(({ id, label, glyph }) => (
        <label key={id} title={label} className={id === theme ? 'is-selected' : ''}>
          <input
            type="radio"
            name="theme"
            className="visually-hidden"
            checked={id === theme}
            onChange={() => {
              applyTheme(id);
              setTheme(id);
            }}
          />
          <span aria-hidden="true">{glyph}</span>
          <span className="visually-hidden">{label}</span>
        </label>
      ))}
    </div>
  );
}
