import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import type { AddOptions } from './add-model.js';
import { addPlacementCommands } from '../placement/placement-commands.js';
import type { CheckOptions } from './check-host.js';
import type { RemoveOptions } from './remove-model.js';

interface JsonOption {
  json?: boolean;
}

const jsonFlag = ['--json', 'answer with one JSON document on stdout'] as const;

/** `sluice models …`; each command's code is loaded when it runs. */
export function addModelCommands(program: Command, context: CliContext): void {
  const models = program.command('models').description('manifests, weights, and what is served').helpCommand(false);
  addReadingCommands(models, context);
  addWeightCommands(models, context);
  addRegistryCommands(models, context);
  addPlacementCommands(models, context);
}

function addReadingCommands(models: Command, context: CliContext): void {
  models
    .command('list')
    .description('every model known here: bundled, registered, installed')
    .option(...jsonFlag)
    .action(async (options: JsonOption) => (await import('./list-models.js')).listModels(context, options));
  models
    .command('show <id>')
    .description('the manifest of one model and its state')
    .option(...jsonFlag)
    .action(async (id: string, options: JsonOption) =>
      (await import('./show-model.js')).showModel(context, id, options),
    );
}

function addWeightCommands(models: Command, context: CliContext): void {
  models
    .command('pull [names...]')
    .description('download, verify, convert and install models: ids or sets, default the set "starter"')
    .option(...jsonFlag)
    .action(async (names: string[], options: JsonOption) =>
      (await import('./pull-command.js')).pullCommand(context, names, options),
    );
  models
    .command('check <id>')
    .description('load an installed model in a host of its own and run a prompt, a picture, some music or a film')
    .option('--prompt <text>', 'what to ask', 'Once upon a time')
    .option('--output <file>', 'where to write what is seen or heard; default: <id>.png or <id>.wav in this folder')
    .option('--max-tokens <count>', 'most tokens to generate', '64')
    .option('--threads <count>', 'threads of the model; default: one per core')
    .option('--provider <name>', 'execution provider', 'cpu')
    .option(...jsonFlag)
    .action(async (id: string, options: CheckOptions) =>
      (await import('./check-model.js')).checkModel(context, id, options),
    );
}

function addRegistryCommands(models: Command, context: CliContext): void {
  models
    .command('add <source>')
    .description('register a model: a manifest file, hf:<owner>/<repository>[@revision] or npm:<package>@<version>')
    .option('--id <id>', 'id to give it (not with a manifest file)')
    .option('--name <name>', 'name to show (not with a manifest file)')
    .option('--tier <tier>', 'rate-limit tier: XS, S, M or L (not with a manifest file)')
    .option('--input-price <usd>', 'USD per million input tokens (not with a manifest file)')
    .option('--output-price <usd>', 'USD per million output tokens (not with a manifest file)')
    .option('--pull', 'install it at once')
    .option('--dry-run', 'print the manifest and change nothing')
    .option(...jsonFlag)
    .action(async (source: string, options: AddOptions) =>
      (await import('./add-model.js')).addModel(context, source, options),
    );
  models
    .command('sync [folder]')
    .description('register every manifest of a folder, default the bundled ones; a step of a deployment')
    .option(...jsonFlag)
    .action(async (folder: string | undefined, options: JsonOption) =>
      (await import('./sync-models.js')).syncModels(context, folder, options),
    );
  models
    .command('remove <id>')
    .description('take a model out of the registry and off this disk')
    .option('--keep-files', 'leave the installed weights')
    .option('--keep-registered', 'leave the registry entry')
    .option(...jsonFlag)
    .action(async (id: string, options: RemoveOptions) =>
      (await import('./remove-model.js')).removeModel(context, id, options),
    );
  models
    .command('offline <id>')
    .description('refuse requests for a model (503) while it stays listed')
    .option('--undo', 'let it back')
    .option(...jsonFlag)
    .action(async (id: string, options: JsonOption & { undo?: boolean }) =>
      (await import('./set-offline.js')).setOffline(context, id, options),
    );
}
