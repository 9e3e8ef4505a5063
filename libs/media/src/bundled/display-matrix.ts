/** Elements of a track's display matrix (3 × 3, by rows) that turn and mirror. */
function elementsOf(matrix: Buffer): { a: number; b: number; c: number; d: number } {
  const at = (index: number): number => matrix.readInt32LE(index * 4);
  return { a: at(0), b: at(1), c: at(3), d: at(4) };
}

/** Returns by how many degrees a player turns the image clockwise: 0 to 359. */
export function turnOf(matrix: Buffer | null): number {
  if (matrix === null || matrix.length < 36) return 0;
  const { a, b, c, d } = elementsOf(matrix);
  const [scaleX, scaleY] = [Math.hypot(a, c), Math.hypot(b, d)];
  if (scaleX === 0 || scaleY === 0) return 0;
  const degrees = Math.round((Math.atan2(b / scaleY, a / scaleX) * 180) / Math.PI);
  return (degrees + 360) % 360;
}

/** Returns the filters that show an image as a player would: turned by quarters, mirrored. */
export function uprightFilters(matrix: Buffer | null): string[] {
  if (matrix === null || matrix.length < 36) return [];
  const { a, c, d } = elementsOf(matrix);
  const turn = turnOf(matrix);
  if (turn === 90) return [c > 0 ? 'transpose=cclock_flip' : 'transpose=clock'];
  if (turn === 180) return [...(a < 0 ? ['hflip'] : []), ...(d < 0 ? ['vflip'] : [])];
  if (turn === 270) return [c < 0 ? 'transpose=clock_flip' : 'transpose=cclock'];
  return turn === 0 && d < 0 ? ['vflip'] : [];
}
