/** Halvings of the interval of results, down to the precision of numbers. */
const halvings = 60;
/** Standard deviations that hold all shares that a number can tell from 0 and 1. */
const widest = 9;

/** Returns the value below which a standard normal variable is with the probability `share`; minus infinity for 0. */
export function normalQuantile(share: number): number {
  if (share <= 0) return -Infinity;
  if (share >= 1) return Infinity;
  let [low, high] = [-widest, widest];
  for (let step = 0; step < halvings; step++) {
    const middle = (low + high) / 2;
    if (normalShare(middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Returns the share below a value: half and the density times the series x + x³/3 + x⁵/15 + …, which has no differences. */
function normalShare(value: number): number {
  let [term, sum] = [value, value];
  for (let factor = 3; Math.abs(term) > Number.EPSILON * Math.abs(sum); factor += 2) {
    term *= (value * value) / factor;
    sum += term;
  }
  return 0.5 + (sum * Math.exp((-value * value) / 2)) / Math.sqrt(2 * Math.PI);
}
