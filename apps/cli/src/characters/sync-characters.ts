import type { CliContext } from '../cli-context.js';

/**
 * Installs a folder of characters. `npm start` does this itself for those of the product; a deployment does it once per
 * release, after the migrations.
 */
export async function syncCharacters(
  context: CliContext,
  folder: string | undefined,
  { json }: { json?: boolean },
): Promise<void> {
  const { bundledCharacterFolder, installBundled, loadCharacterFolder } = await import('#characters');
  const characters = await loadCharacterFolder(folder ?? bundledCharacterFolder());
  const changed = await installBundled(await context.requireDatabase(), characters);
  const slugs = characters.map(({ slug }) => slug);
  if (json) return context.output.json({ characters: slugs, changed });
  for (const slug of slugs) context.output.line(`${slug}: ${changed.includes(slug) ? 'installed' : 'unchanged'}`);
}
