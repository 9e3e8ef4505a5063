export function meanOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Mean difference of paired losses with its standard error, in nats per token. */
export function compareLosses(losses: Float64Array, reference: Float64Array): { difference: number; error: number } {
  const differences = losses.map((loss, index) => loss - (reference[index] ?? NaN));
  const difference = meanOf(differences);
  const variance = meanOf(differences.map((value) => (value - difference) ** 2));
  return { difference, error: Math.sqrt(variance / differences.length) };
}
