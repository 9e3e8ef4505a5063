import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { serviceUrl, signIn } from '../api/client.js';
import type { RequestError } from '../api/request-error.js';
import { toRequestError } from '../api/use-query.js';
import { TextField } from '../components/fields.js';
import { Failure, Loading } from '../components/states.js';

interface SignInProps {
  /** Why the reader is here; null at the first visit. */
  reason: string | null;
  /** Of a one-time link. */
  token: string | null;
  /** Why the last attempt failed. The caller keeps it: the address changes with the attempt of a link. */
  failure: RequestError | null;
  onFailure: (failure: RequestError | null) => void;
}

/** Exchanges an API key for a session. The page does not keep the key. */
export function SignIn({ reason, token, failure, onFailure }: SignInProps): JSX.Element {
  const [apiKey, setApiKey] = useState('');
  const [isBusy, setBusy] = useState(token !== null);

  const exchange = (credentials: { apiKey: string } | { token: string }): void => {
    setBusy(true);
    onFailure(null);
    signIn(credentials).then(
      () => {
        setApiKey('');
        if (token !== null) forgetToken();
      },
      (error: unknown) => {
        onFailure(toRequestError(error));
        setBusy(false);
        if (token !== null) forgetToken();
      },
    );
  };
  useEffect(() => {
    if (token !== null) exchange({ token });
  }, [token]);
  useEffect(() => {
    document.title = 'Sign in · Sluice console';
  }, []);

  return (
    <main class="sign-in">
      <h1>Sluice console</h1>
      {reason !== null && (
        <p class="notice" role="status">
          {reason}
        </p>
      )}
      {failure !== null && <Failure error={failure} />}
      {isBusy && <Loading what="Signing in" />}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (apiKey.trim() !== '') exchange({ apiKey: apiKey.trim() });
        }}
      >
        <TextField
          label="API key"
          type="password"
          value={apiKey}
          onChange={setApiKey}
          isRequired
          hint="An INFERENCE key sees its own usage and the playground, an ADMIN key its account. The browser does not keep it."
        />
        <button type="submit" class="primary" disabled={isBusy}>
          Sign in
        </button>
      </form>
      <p class="small">
        On the machine that runs <code>npm start</code>, open the link that it prints. The API is described in its{' '}
        <a href={serviceUrl('docs')}>documentation</a>.
      </p>
    </main>
  );
}

/** A used token is worth nothing, but need not stay in the address and the history. */
function forgetToken(): void {
  history.replaceState(null, '', '#/');
  dispatchEvent(new HashChangeEvent('hashchange'));
}
