import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { serviceUrl, signOut } from '../api/client.js';
import { setSession, type Session } from '../api/session.js';
import { formatHash, keepShared, type Place } from '../routing/place.js';
import type { MenuEntry } from './menu.js';
import { chooseTheme, storedTheme, type Theme } from './theme.js';

interface HeaderProps {
  session: Session;
  place: Place;
  entries: readonly MenuEntry[];
  /** The view that is shown; null: none of the menu. */
  current: string | null;
}

export function Header({ session, place, entries, current }: HeaderProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const filters = keepShared(place.filters);
  return (
    <header class="header">
      <p class="brand">
        Sluice <span class="weak">{session.version}</span>
      </p>
      <button
        type="button"
        class="menu-button"
        aria-expanded={isOpen}
        aria-controls="menu"
        onClick={() => setOpen(!isOpen)}
      >
        Menu
      </button>
      <nav id="menu" aria-label="Views" class={isOpen ? 'menu menu-open' : 'menu'}>
        <ul>
          {entries.map(({ view, title }) => (
            <li key={view}>
              <a
                href={formatHash({ view, entry: null, filters })}
                aria-current={view === current ? 'page' : undefined}
                onClick={() => setOpen(false)}
              >
                {title}
              </a>
            </li>
          ))}
          <li>
            <a href={serviceUrl('docs')}>API documentation</a>
          </li>
        </ul>
        <Account session={session} />
      </nav>
    </header>
  );
}

function Account({ session }: { session: Session }): JSX.Element {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  const choose = (value: string): void => {
    const chosen = value === 'light' || value === 'dark' ? value : 'system';
    chooseTheme(chosen);
    setTheme(chosen);
  };
  const leave = (): void => {
    // A session that cannot be ended on the server ends here, and there at its expiry.
    signOut().catch(() => setSession({ state: 'signed-out', reason: 'The service did not confirm the sign-out.' }));
  };
  return (
    <div class="account">
      <p>
        {session.account.name}
        <br />
        <span class="weak">
          {session.key.description} <span class="nowrap">…{session.key.last6}</span>, {session.role}
        </span>
      </p>
      <label>
        Theme{' '}
        <select value={theme} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          <option value="system">System</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
      <button type="button" onClick={leave}>
        Sign out
      </button>
    </div>
  );
}
