/** Counts how often the event loop turns until the returned function is called, which returns the number. */
export function countTurns(): () => number {
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    isOver = true;
    return turns;
  };
}
