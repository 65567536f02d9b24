// First, so that pages can override it.
import './style.css';
import { StrictMode } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';

const root = createRoot(document.getElementById('app') as HTMLElement);

// At once: the key that the link brings has to be stored before the user or a script can leave the page.
flushSync(() =>
  root.render(
    <StrictMode>
      <App />
    </StrictMode>,
  ),
);
