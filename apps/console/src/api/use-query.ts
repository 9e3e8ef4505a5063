import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { getJson, type RequestOptions } from './client.js';
import { RequestError } from './request-error.js';
import { onSharedData, shareData } from './shared-data.js';

export interface Query<Data> {
  /** The last response; stays while a later request runs or fails. */
  data: Data | null;
  /** Why the last request failed; null after a success. */
  error: RequestError | null;
  isLoading: boolean;
  /** When `data` arrived. */
  loadedAt: Date | null;
  reload(): void;
}

interface QueryOptions {
  query?: RequestOptions['query'];
  /** Asks again after this time, while the page is visible. */
  refreshMs?: number;
}

type Result<Data> = Pick<Query<Data>, 'data' | 'error' | 'isLoading' | 'loadedAt'>;

const initial = { data: null, error: null, isLoading: true, loadedAt: null };

/** Loads a path of the service and keeps it up to date. A null path loads nothing. */
export function useQuery<Data>(path: string | null, { query, refreshMs }: QueryOptions = {}): Query<Data> {
  const key = JSON.stringify([path, query ?? {}]);
  const [state, setState] = useState<{ key: string; result: Result<Data> }>({ key, result: initial });
  const load = useRef<() => void>(() => undefined);

  useEffect(() => {
    if (path === null) return undefined;
    const loop = startLoop<Data>({ key, path, query, refreshMs }, (change) =>
      setState((previous) => ({ key, result: change(previous.key === key ? previous.result : initial) })),
    );
    load.current = loop.run;
    return loop.end;
    // `key` stands for path and query, which are new objects in each render.
  }, [key, refreshMs]);

  // A response belongs to its own query only: a view must not show it under other filters.
  const current = state.key === key ? state.result : initial;
  const result = path === null ? { ...initial, isLoading: false } : current;
  return { ...result, reload: useCallback(() => load.current(), []) };
}

interface Loop extends QueryOptions {
  key: string;
  path: string;
}

/**
 * Loads at once, again after `refreshMs`, and when a hidden page becomes visible. Tabs of one browser that show the same
 * share what one of them loads, so that ten cost as much as one.
 */
function startLoop<Data>(
  { key, path, query, refreshMs }: Loop,
  setResult: (change: (previous: Result<Data>) => Result<Data>) => void,
): { run(): void; end(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let controller = new AbortController();

  const load = (headers: Record<string, string>): void => {
    clearTimeout(timer);
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    getJson<Data>(path, { query: query ?? {}, headers, signal })
      .then(
        (data) => {
          if (signal.aborted) return;
          setResult(() => ({ data, error: null, isLoading: false, loadedAt: new Date() }));
          if (refreshMs !== undefined) shareData(key, data);
        },
        (error: unknown) => {
          if (signal.aborted) return;
          setResult((previous) => ({ ...previous, isLoading: false, error: toRequestError(error) }));
        },
      )
      .finally(() => {
        if (refreshMs === undefined || signal.aborted) return;
        // Another tab may have answered meanwhile, and set it.
        clearTimeout(timer);
        timer = setTimeout(runIfVisible, refreshMs);
      });
  };
  const run = (): void => load({});
  const runIfVisible = (): void => {
    if (document.visibilityState === 'visible') load(acceptedAge(refreshMs));
  };
  const onVisibility = (): void => {
    if (refreshMs !== undefined) runIfVisible();
  };

  const stopListening =
    refreshMs === undefined
      ? () => undefined
      : onSharedData(key, (data) => {
          clearTimeout(timer);
          setResult(() => ({ data: data as Data, error: null, isLoading: false, loadedAt: new Date() }));
          // Later than the tab that loaded it, which therefore stays the one that loads; not all at once if it closes.
          timer = setTimeout(runIfVisible, refreshMs * (1.3 + Math.random() / 2));
        });

  document.addEventListener('visibilitychange', onVisibility);
  run();
  return {
    run,
    end: () => {
      clearTimeout(timer);
      stopListening();
      controller.abort();
      document.removeEventListener('visibilitychange', onVisibility);
    },
  };
}

/** A page that refreshes itself accepts what the service read for another browser since its own last refresh. */
function acceptedAge(refreshMs = 0): Record<string, string> {
  const seconds = Math.floor((refreshMs * 0.8) / 1000);
  return seconds === 0 ? {} : { 'cache-control': `max-age=${seconds}` };
}

export function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  return new RequestError(0, error instanceof Error ? `The page failed: ${error.message}` : 'The page failed.');
}
