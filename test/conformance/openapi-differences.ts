import { factsOf, type OpenapiDocument } from './openapi-facts.js';

/** One line of `known-differences.yaml`. */
export interface KnownDifference {
  /** A difference as printed; `*` matches any text. */
  difference: string;
  reason: string;
}

/** Returns every difference of `published` from `contract`, sorted. */
export function differencesOf(contract: OpenapiDocument, published: OpenapiDocument): string[] {
  const [wanted, found] = [factsOf(contract), factsOf(published)];
  const differences: string[] = [];
  for (const [operation, facts] of wanted) {
    const ours = found.get(operation);
    if (ours === undefined) {
      differences.push(`${operation} is missing`);
      continue;
    }
    for (const fact of facts) if (!ours.has(fact)) differences.push(`${operation} lacks: ${fact}`);
    for (const fact of ours) if (!facts.has(fact)) differences.push(`${operation} adds: ${fact}`);
  }
  for (const operation of found.keys()) if (!wanted.has(operation)) differences.push(`${operation} is new`);
  return differences.toSorted();
}

function matches({ difference }: KnownDifference, text: string): boolean {
  const parts = difference.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`).test(text);
}

/** Undocumented differences, and documented ones that no longer exist. */
export function compareWithKnown(
  differences: string[],
  known: KnownDifference[],
): { unlisted: string[]; outdated: string[] } {
  return {
    unlisted: differences.filter((text) => !known.some((entry) => matches(entry, text))),
    outdated: known
      .filter((entry) => !differences.some((text) => matches(entry, text)))
      .map(({ difference }) => difference),
  };
}
