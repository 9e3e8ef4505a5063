export type Theme = 'system' | 'light' | 'dark';

const storageKey = 'sluice-console-theme';
const listeners = new Set<() => void>();

/** The theme that the reader chose; the browser keeps it. */
export function storedTheme(): Theme {
  const stored = readStorage();
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(storageKey, theme);
  } catch {
    // A browser without storage forgets the choice when the page closes.
  }
  applyTheme(theme);
}

export function applyStoredTheme(): void {
  applyTheme(storedTheme());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', notify);
}

/** Calls the listener when colors change, for drawings that do not follow the style sheet. */
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function applyTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme;
  notify();
}

function notify(): void {
  for (const listener of listeners) listener();
}

function readStorage(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}
