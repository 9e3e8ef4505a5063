import { type Command, Option } from 'commander';
import type { Character } from '#characters';
import type { CliContext } from '../cli-context.js';
import { addCharacter, importCharacter } from './add-character.js';
import { addDocumentCommands } from './document-commands.js';
import { reviewCharacter, type ReviewOptions } from './review-character.js';

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;
const replaceFlag = ['--replace', 'replace a character of the same slug; its reviews stay'] as const;

interface JsonOption {
  json?: boolean;
}

/** `sluice characters …` */
export function addCharacterCommands(program: Command, context: CliContext): void {
  const characters = program.command('characters').description('personas that chats can take on').helpCommand(false);
  characters
    .command('add <file>')
    .description('add a character from a YAML file')
    .option(...replaceFlag)
    .option(...jsonFlag)
    .action((file: string, options: JsonOption & { replace?: boolean }) => addCharacter(context, file, options));
  characters
    .command('import <file>')
    .description('import a Character Card (V2 or V3), as JSON or PNG')
    .option('--slug <slug>', 'its name in requests; default: made of the name')
    .option('--model <name>', 'its model in requests that name the default one')
    .option(...replaceFlag)
    .option(...jsonFlag)
    .action((file: string, options: JsonOption & { slug?: string; model?: string; replace?: boolean }) =>
      importCharacter(context, file, options),
    );
  characters
    .command('list')
    .description('list all characters')
    .option(...jsonFlag)
    .action((options: JsonOption) => listCharacters(context, options));
  characters
    .command('show <slug>')
    .description('show a character with its prompt and statistics')
    .option(...jsonFlag)
    .action((slug: string, options: JsonOption) => showCharacter(context, slug, options));
  characters
    .command('export <slug>')
    .description('print the file of a character')
    .addOption(
      new Option('--format <format>', 'YAML, or a Character Card V3').choices(['yaml', 'card']).default('yaml'),
    )
    .option(...jsonFlag)
    .action((slug: string, options: JsonOption & { format: string }) => exportCharacter(context, slug, options));
  characters
    .command('remove <slug>')
    .description('remove a character with its reviews')
    .option(...jsonFlag)
    .action((slug: string, options: JsonOption) => removeCharacter(context, slug, options));
  characters
    .command('review <slug>')
    .description('write a review; one of the same account replaces the earlier one')
    .requiredOption('--rating <stars>', '1 to 5')
    .option('--message <text>', 'what the reviewer says')
    .option('--username <name>', 'name of the reviewer', 'Operator')
    .option('--account <account>', 'account of the reviewer, by id or name; default: none')
    .option('--locale <language>', 'language of the message: en, pt-BR')
    .option(...jsonFlag)
    .action((slug: string, options: JsonOption & ReviewOptions) => reviewCharacter(context, slug, options));
  characters
    .command('sync [folder]')
    .description('install the characters of the product, or of a folder; what was changed or removed here stays')
    .option(...jsonFlag)
    .action((folder: string | undefined, options: JsonOption) => syncCharacters(context, folder, options));
  addDocumentCommands(characters, context);
}

async function removeCharacter(context: CliContext, slug: string, { json }: JsonOption): Promise<void> {
  await (await context.requireCharacters()).remove(slug);
  if (json) return context.output.json({ slug, removed: true });
  context.output.line(`${slug}: removed`);
}

/** Prints the YAML file of a character, or its card. */
async function exportCharacter(
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

/**
 * Installs a folder of characters. `npm start` does this itself for those of the product; a deployment does it once per
 * release, after the migrations.
 */
async function syncCharacters(
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

async function listCharacters(context: CliContext, { json }: { json?: boolean }): Promise<void> {
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

async function showCharacter(context: CliContext, slug: string, { json }: { json?: boolean }): Promise<void> {
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
