import type { ComponentChildren, JSX } from 'preact';
import type { RequestError } from '../api/request-error.js';
import type { Query } from '../api/use-query.js';
import { formatTime } from '../format/time.js';

export function Loading({ what = 'Loading' }: { what?: string }): JSX.Element {
  return (
    <p class="state" role="status">
      <span class="spinner" aria-hidden="true" /> {what} …
    </p>
  );
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="state">{children}</p>;
}

/** Says what went wrong, with the id that finds the request in the logs. */
export function Failure({ error, retry }: { error: RequestError; retry?: () => void }): JSX.Element {
  return (
    <div class="notice notice-error" role="alert">
      <p>{error.message}</p>
      {error.requestId !== null && (
        <p class="small">
          Request <code>{error.requestId}</code>
          {error.code !== null && (
            <>
              , <code>{error.code}</code>
            </>
          )}
        </p>
      )}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

interface QueryViewProps<Data> {
  query: Query<Data>;
  children: (data: Data) => ComponentChildren;
}

/** Shows a query: its data, or that it loads, or why it failed. Old data stay visible while a newer request fails. */
export function QueryView<Data>({ query, children }: QueryViewProps<Data>): JSX.Element {
  const { data, error, isLoading, loadedAt, reload } = query;
  if (data === null) {
    if (error !== null) return <Failure error={error} retry={reload} />;
    return isLoading ? <Loading /> : <Empty>Nothing to show.</Empty>;
  }
  return (
    <>
      {error !== null && (
        <div class="notice notice-warning" role="status">
          {error.message} These figures are of {formatTime(loadedAt?.toISOString())}.
        </div>
      )}
      {children(data)}
    </>
  );
}
