/** Returns the cosine of the angle between two vectors; 0 if one has no length. */
export function cosine(left: readonly number[], right: readonly number[]): number {
  let product = 0;
  let leftSquare = 0;
  let rightSquare = 0;
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? 0;
    product += value * other;
    leftSquare += value * value;
    rightSquare += other * other;
  }
  const length = Math.sqrt(leftSquare) * Math.sqrt(rightSquare);
  return length === 0 ? 0 : product / length;
}

/** The lines of a text that are not blank. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
