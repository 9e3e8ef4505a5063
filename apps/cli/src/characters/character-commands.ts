import { type Command, Option } from 'commander';
import type { CliContext } from '../cli-context.js';
import { addCharacter, importCharacter } from './add-character.js';
import { addDocumentCommands } from './document-commands.js';
import { exportCharacter } from './export-character.js';
import { listCharacters, showCharacter } from './list-characters.js';
import { reviewCharacter, type ReviewOptions } from './review-character.js';
import { syncCharacters } from './sync-characters.js';

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
