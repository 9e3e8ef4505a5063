import type { CliContext } from '../cli-context.js';

/** Prints the YAML file of a character, or its card. */
export async function exportCharacter(
  context: CliContext,
  slug: string,
  { format, json }: { format: string; json?: boolean },
): Promise<void> {
  const { characterFields, formatCharacterCard, formatCharacterFile } = await import('#characters');
  const character = await (await context.requireCharacters()).find(slug);
  if (format === 'card') return context.output.json(formatCharacterCard(character));
  if (json) return context.output.json(characterFields(character));
  context.output.line(formatCharacterFile(character).trimEnd());
}
