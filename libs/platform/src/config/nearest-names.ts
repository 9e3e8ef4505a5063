/** Edits up to which a name counts as a misspelling. */
const maxEdits = 3;

/** Returns the known names that a misspelled one may mean, the nearest first. */
export function nearestNames(name: string, known: Iterable<string>): string[] {
  return [...known]
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .filter(({ distance }) => distance <= maxEdits)
    .toSorted((left, right) => left.distance - right.distance)
    .map(({ candidate }) => candidate);
}

/** The Levenshtein distance: insertions, deletions and replacements of one character. */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
