import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { addDocuments, type AddDocumentsOptions } from './add-documents.js';

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;

/** `sluice characters documents …` */
export function addDocumentCommands(characters: Command, context: CliContext): void {
  const documents = characters
    .command('documents')
    .description('files that a character answers from')
    .helpCommand(false);
  documents
    .command('add <slug> <folder>')
    .description('read a folder; changed files are read again, missing ones removed')
    .option('--model <id>', 'installed embedding model; default: the one with the trait default')
    .option('--provider <name>', 'where the model runs', 'cpu')
    .option(...jsonFlag)
    .action((slug: string, folder: string, options: AddDocumentsOptions) =>
      addDocuments(context, { slug, folder }, options),
    );
  documents
    .command('list <slug>')
    .description('list the files of a character')
    .option(...jsonFlag)
    .action((slug: string, options: { json?: boolean }) => listDocuments(context, slug, options));
  documents
    .command('remove <slug>')
    .description('remove all files of a character')
    .option(...jsonFlag)
    .action((slug: string, options: { json?: boolean }) => removeDocuments(context, slug, options));
}

async function listDocuments(context: CliContext, slug: string, { json }: { json?: boolean }): Promise<void> {
  const { id, documentsModel } = await (await context.requireCharacters()).find(slug);
  const documents = await (await context.requireDocuments()).list(id);
  if (json) return context.output.json({ slug, model: documentsModel, documents });
  context.output.table(
    ['FILE', 'PASSAGES'],
    documents.map(({ name, passages }) => [name, String(passages)]),
  );
}

async function removeDocuments(context: CliContext, slug: string, { json }: { json?: boolean }): Promise<void> {
  const character = await (await context.requireCharacters()).find(slug);
  const removed = await (await context.requireDocuments()).clear(character);
  if (json) return context.output.json({ slug, removed });
  context.output.line(`${slug}: ${removed} files removed`);
}
