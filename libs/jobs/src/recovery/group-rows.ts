/** A list in groups of so many, the last one of the rest. */
export function* groupsOf<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let first = 0; first < items.length; first += size) yield items.slice(first, first + size);
}
