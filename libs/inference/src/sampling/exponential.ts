/** Weights below e^−40 of the best add nothing to a sum of up to 10^6 terms in double precision. */
export const negligible = -40;

const stepsPerUnit = 64;
const table = Float64Array.from({ length: -negligible * stepsPerUnit + 1 }, (_, step) =>
  Math.exp(-step / stepsPerUnit),
);

/**
 * Returns e to the power of a `distance` between `negligible` and 0, with a relative error below 10^−11, from a table
 * and four terms of the series. Several times faster than `Math.exp`, which matters when a whole vocabulary is summed.
 */
export function exponential(distance: number): number {
  const scaled = distance * -stepsPerUnit;
  const step = scaled | 0;
  const rest = (step - scaled) / stepsPerUnit;
  return (table[step] as number) * (1 + rest * (1 + rest * (1 / 2 + rest * (1 / 6 + rest / 24))));
}
