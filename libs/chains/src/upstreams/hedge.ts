/** An attempt that may be ended because another one was faster. */
export interface RacingAttempt<Result> {
  ending: AbortController;
  attempt: Promise<Result | null>;
}

export interface HedgeOptions<Candidate, Result> {
  start: (candidate: Candidate) => RacingAttempt<Result>;
  /** No other candidate is asked. */
  isFinal: (result: Result) => boolean;
  /** Called with a final result that came second. */
  drop: (result: Result) => void;
  /** How long the first candidate has before the second one is asked, too, in ms. */
  hedgeMs: number;
}

/**
 * Asks the first candidate, and after a while the next one at the same time, which is removed from the others. The first
 * final result counts, and ends the other attempt. Without one, returns what is left: null or a result that is not final.
 * Rejects if an attempt does.
 */
export async function hedge<Candidate, Result>(
  [first, others]: [Candidate, Candidate[]],
  { start, isFinal, drop, hedgeMs }: HedgeOptions<Candidate, Result>,
): Promise<Result | null> {
  const racers = [start(first)];
  return await new Promise<Result | null>((resolve, reject) => {
    let open = 1;
    let isOver = false;
    let refused: Result | null = null;
    const finish = (end: () => void): void => {
      isOver = true;
      clearTimeout(timer);
      end();
    };
    const follow = (racer: RacingAttempt<Result>): void => {
      const endOthers = (): void => racers.filter((other) => other !== racer).forEach(({ ending }) => ending.abort());
      const settle = (result: Result | null): void => {
        const isLast = result !== null && isFinal(result);
        if (isOver) return isLast ? drop(result) : undefined;
        open -= 1;
        if (isLast) finish(() => (endOthers(), resolve(result)));
        refused ??= result;
        if (!isLast && open === 0) finish(() => resolve(refused));
      };
      const fail = (error: unknown): void => {
        if (!isOver) finish(() => (endOthers(), reject(error as Error)));
      };
      racer.attempt.then(settle, fail);
    };
    const timer = setTimeout(() => {
      const second = others.shift();
      if (second === undefined) return;
      const racer = start(second);
      racers.push(racer);
      open += 1;
      follow(racer);
    }, hedgeMs);
    for (const racer of racers) follow(racer);
  });
}
