import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { loadSession } from '../api/client.js';
import type { RequestError } from '../api/request-error.js';
import { onSession, sessionState, type Session } from '../api/session.js';
import { toRequestError } from '../api/use-query.js';
import { Failure, Loading } from '../components/states.js';
import type { Place } from '../routing/place.js';
import { usePlace } from '../routing/use-place.js';
import { Header } from './header.js';
import { menuFor } from './menu.js';
import { SignIn } from './sign-in.js';

const retryMs = 3000;

/** The console: the sign-in page until someone has signed in, then the menu and a view. */
export function App(): JSX.Element {
  const [state, setState] = useState(sessionState);
  const [error, setError] = useState<RequestError | null>(null);
  const [signInFailure, setSignInFailure] = useState<RequestError | null>(null);
  const place = usePlace();
  useEffect(() => onSession(setState), []);
  useEffect(() => keepTrying(setError), []);

  const attempt = { failure: signInFailure, onFailure: setSignInFailure };
  // A one-time link signs in whoever opens it, also instead of an older session.
  if (place.view === 'sign-in') return <SignIn reason={null} token={place.entry} {...attempt} />;
  switch (state.state) {
    case 'unknown':
      return <main class="sign-in">{error === null ? <Loading /> : <Failure error={error} />}</main>;
    case 'signed-out':
      return <SignIn reason={state.reason} token={null} {...attempt} />;
    case 'signed-in':
      return <SignedIn session={state.session} place={place} />;
  }
}

/** Asks for the session until the service answers, so that a page opened during a restart recovers. */
function keepTrying(setError: (error: RequestError | null) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = (): void => {
    loadSession().then(
      () => setError(null),
      (error: unknown) => {
        setError(toRequestError(error));
        timer = setTimeout(run, retryMs);
      },
    );
  };
  run();
  return () => clearTimeout(timer);
}

function SignedIn({ session, place }: { session: Session; place: Place }): JSX.Element {
  const entries = menuFor(session.role);
  const entry = place.view === '' ? entries[0] : entries.find(({ view }) => view === place.view);
  const heading = useRef<HTMLHeadingElement>(null);
  const title = entry?.title ?? 'No such page';
  useEffect(() => {
    document.title = `${title} · Sluice console`;
    // After a click in the menu, screen readers and the keyboard go on at the new view.
    heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div class="shell">
      <a class="skip" href="#view" onClick={(event) => skipTo(event, heading.current)}>
        Skip to the view
      </a>
      <Header session={session} place={place} entries={entries} current={entry?.view ?? null} />
      <main id="view">
        <h1 tabIndex={-1} ref={heading}>
          {title}
        </h1>
        {entry === undefined ? (
          <p>This console has no page at this address, or your key may not see it. Choose one from the menu.</p>
        ) : (
          <Guard key={entry.view}>
            <entry.component place={place} session={session} />
          </Guard>
        )}
      </main>
    </div>
  );
}

/** A view that fails shows why; the menu stays usable. */
function Guard({ children }: { children: ComponentChildren }): JSX.Element {
  const [error, reset] = useErrorBoundary();
  if (error === undefined) return <>{children}</>;
  return <Failure error={toRequestError(error)} retry={reset} />;
}

/** The address holds the place, so the link must not change its hash. */
function skipTo(event: Event, target: HTMLElement | null): void {
  event.preventDefault();
  target?.focus();
}
