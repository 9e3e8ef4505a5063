import type { Character } from '#characters';
import type { CliContext } from '../cli-context.js';

export async function listCharacters(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const characters = await (await context.requireCharacters()).all();
  if (json) return context.output.json({ characters });
  context.output.table(
    ['SLUG', 'MODEL', 'CHATS', 'RATING', 'REVIEWS', 'AUTHOR', 'NAME'],
    characters.map((character) => [
      character.slug,
      character.modelId,
      String(character.uses),
      ratingOf(character),
      String(character.ratingCount),
      character.author,
      character.name,
    ]),
  );
}

export async function showCharacter(context: CliContext, slug: string, { json }: { json?: boolean }): Promise<void> {
  const character = await (await context.requireCharacters()).find(slug);
  if (json) return context.output.json(character);
  const { output } = context;
  output.line(`${character.name} (${slug}), by ${character.author}`);
  if (character.description !== null) output.line(character.description);
  const flags = [character.featured && 'featured', character.adult && 'adult', character.webEnabled && 'web access'];
  const shown = flags.filter((flag) => flag !== false);
  output.line(
    `model: ${character.modelId}; tags: ${character.tags.join(', ') || '–'}; ${shown.join(', ') || 'no flags'}`,
  );
  output.line(`${character.uses} chats, ${character.ratingCount} reviews, rated ${ratingOf(character)}`);
  if (character.greeting !== null) output.line(`\nGreeting:\n${character.greeting}`);
  output.line(`\nSystem prompt:\n${character.systemPrompt}`);
  context.next(`sluice characters export ${slug} > ${slug}.yaml, then sluice characters add ${slug}.yaml --replace`);
}

function ratingOf({ ratingCount, ratingSum }: Character): string {
  return ratingCount === 0 ? '–' : (ratingSum / ratingCount).toFixed(1);
}
