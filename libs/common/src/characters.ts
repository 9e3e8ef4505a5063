/** Counts the characters of a text as the API's limits do: in code points, so that an emoji is one. */
export function charactersOf(text: string): number {
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters;
}
