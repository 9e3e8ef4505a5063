import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';

/** `sluice backup` and `sluice restore`. */
export function addBackupCommands(program: Command, context: CliContext): void {
  program
    .command('backup')
    .description('write the database, stored objects and keys to one file, while everything runs')
    .argument('<path>', 'file to write, or a folder for a file named after the time')
    .option('--verify', 'check that the file is whole instead')
    .option('--json', 'print one JSON document to stdout')
    .action(async (path: string, options: { verify?: boolean; json?: boolean }) => {
      const { backUp, checkBackup } = await import('./back-up.js');
      await (options.verify ? checkBackup : backUp)(context, path, options);
    });
  program
    .command('restore')
    .description('restore a backup into an empty home, or the empty database of DATABASE_URL')
    .argument('<file>', 'a file of `sluice backup`')
    .option('--replace', 'set aside what is in the way, under another name')
    .option('--without-key', 'restore although the key of the installation is lost')
    .option('--json', 'print one JSON document to stdout')
    .action(async (file: string, options: { replace?: boolean; withoutKey?: boolean; json?: boolean }) => {
      const { restore } = await import('./restore.js');
      await restore(context, file, options);
    });
}
