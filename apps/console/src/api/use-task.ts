import { useEffect, useRef, useState } from 'preact/hooks';
import type { RequestError } from './request-error.js';
import { toRequestError } from './use-query.js';

export interface Task<Result> {
  /** Runs the action instead of one that still runs. */
  run(action: (signal: AbortSignal) => Promise<Result>): void;
  stop(): void;
  /** The result of the last run that succeeded. */
  result: Result | null;
  error: RequestError | null;
  isBusy: boolean;
  /** How long it runs, or ran. */
  elapsedMs: number;
}

interface State<Result> {
  result: Result | null;
  error: RequestError | null;
  isBusy: boolean;
  elapsedMs: number;
}

/** A request that takes its time: it shows how long, and it can be stopped. */
export function useTask<Result>(): Task<Result> {
  const [state, setState] = useState<State<Result>>({ result: null, error: null, isBusy: false, elapsedMs: 0 });
  const controller = useRef<AbortController | null>(null);
  useEffect(() => () => controller.current?.abort(), []);

  const run = (action: (signal: AbortSignal) => Promise<Result>): void => {
    controller.current?.abort();
    const current = new AbortController();
    controller.current = current;
    const startedAt = performance.now();
    const elapsed = (): number => performance.now() - startedAt;
    const ticker = setInterval(() => setState((previous) => ({ ...previous, elapsedMs: elapsed() })), 250);
    setState((previous) => ({ ...previous, error: null, isBusy: true, elapsedMs: 0 }));
    const finish = (changes: Partial<State<Result>>): void => {
      if (controller.current !== current) return;
      setState((previous) => ({ ...previous, ...changes, isBusy: false, elapsedMs: elapsed() }));
    };
    action(current.signal)
      .then(
        (result) => finish({ result }),
        (error: unknown) => finish(current.signal.aborted ? {} : { error: toRequestError(error) }),
      )
      .finally(() => clearInterval(ticker));
  };
  return { run, stop: () => controller.current?.abort(), ...state };
}
