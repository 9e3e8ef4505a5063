/** Characters of a text as limits of the wire count them: code points, of which an emoji is one. */
export function charactersOf(text: string): number {
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters;
}
