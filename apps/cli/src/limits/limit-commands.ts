import type { Command } from 'commander';
import { PlatformError } from '#common';
import type { LimitOverride, LimitOverridesRepository } from '#rate-limit';
import { resolveAccount } from '../accounts/resolve-account.js';
import type { CliContext } from '../cli-context.js';

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;

interface TargetOptions {
  account?: string;
  key?: string;
  global?: boolean;
  model?: string;
  class?: string;
  json?: boolean;
}

type SetOptions = TargetOptions & { rpm?: string; tpm?: string; concurrent?: string };

/** `sluice limits …` */
export function addLimitCommands(program: Command, context: CliContext): void {
  const limits = program
    .command('limits')
    .description('rate limits of accounts, keys and the installation')
    .helpCommand(false);
  const withTarget = (command: Command): Command =>
    command
      .option('--account <account>', 'limits of an account, by id or name; default: the first account')
      .option('--key <id>', 'limits of one API key, over all models')
      .option('--global', 'limits of the whole installation')
      .option('--model <id>', 'with an account: for one model')
      .option(
        '--class <class>',
        'with an account: for XS, S, M, L, image, audio, embedding, video_queue, retrieve, rpc, other',
      )
      .option(...jsonFlag);
  withTarget(limits.command('set').description('override the default limits; takes effect within 5 s'))
    .option('--rpm <count>', 'requests per minute')
    .option('--tpm <count>', 'tokens per minute')
    .option('--concurrent <count>', 'requests open at once; of an account or a key, over all models')
    .action((options: SetOptions) => setLimits(context, options));
  withTarget(limits.command('remove').description('remove an override')).action((options: TargetOptions) =>
    removeLimits(context, options),
  );
  limits
    .command('list')
    .description('list the default limits and their overrides')
    .option(...jsonFlag)
    .action((options: { json?: boolean }) => listLimits(context, options));
}

async function setLimits(context: CliContext, options: SetOptions): Promise<void> {
  const { checkOverride } = await import('#rate-limit');
  const subject = await subjectOf(context, options);
  const override = {
    ...subject,
    requests: countOf('--rpm', options.rpm),
    tokens: countOf('--tpm', options.tpm),
    concurrent: countOf('--concurrent', options.concurrent),
  };
  checkOverride(override);
  if (options.model !== undefined) await assertModel(context, options.model);
  await (await requireOverrides(context)).set(override);
  if (options.json) return context.output.json(override);
  const { requests, tokens, concurrent } = override;
  const rates = [requests === null ? [] : `${requests} requests`, tokens === null ? [] : `${tokens} tokens`].flat();
  const parts = [
    rates.length === 0 ? [] : `${rates.join(' and ')} per minute`,
    concurrent === null ? [] : `${concurrent} requests at once`,
  ].flat();
  context.output.line(`${nameOf(override)}: ${parts.join(', ')}`);
}

/** Rate limits are looked up by model id only; one set for an alias would never apply. */
async function assertModel(context: CliContext, name: string): Promise<void> {
  const manifests = (await (await context.requireRegistry()).inventory()).map(({ manifest }) => manifest);
  if (manifests.some(({ id }) => id === name)) return;
  const meant = manifests.filter(({ aliases = [], traits = {} }) =>
    [...aliases, ...Object.keys(traits)].includes(name),
  );
  const hint =
    meant.length > 0
      ? `It is another name of ${meant.map(({ id }) => id).join(', ')}.`
      : 'sluice models list shows what there is.';
  throw new PlatformError(
    'INVALID_REQUEST',
    `--model must be the id of a registered model, not ${name}. ${hint}`,
    'model',
  );
}

async function removeLimits(context: CliContext, options: TargetOptions): Promise<void> {
  const subject = await subjectOf(context, options);
  const removed = await (await requireOverrides(context)).remove(subject, subject.target);
  if (options.json) return context.output.json({ ...subject, removed });
  context.output.line(`${nameOf(subject)}: ${removed ? 'as in the table' : 'nothing was set'}`);
}

async function requireOverrides(context: CliContext): Promise<LimitOverridesRepository> {
  const prisma = await context.requireDatabase();
  const { LimitOverridesRepository } = await import('#rate-limit');
  return new LimitOverridesRepository(prisma);
}

type Subject = Pick<LimitOverride, 'accountId' | 'apiKeyId' | 'target'>;

async function subjectOf(context: CliContext, options: TargetOptions): Promise<Subject> {
  const { account, key, global = false, model, class: limitClass } = options;
  if ([account, key, global || undefined].filter((one) => one !== undefined).length > 1) {
    throw new PlatformError('INVALID_REQUEST', 'Name one of --account, --key and --global.');
  }
  if (model !== undefined && limitClass !== undefined) {
    throw new PlatformError('INVALID_REQUEST', 'Name --model or --class, not both.');
  }
  const { everything, targetOfModel } = await import('#rate-limit');
  const target = model === undefined ? (limitClass ?? everything) : targetOfModel(model);
  if (key !== undefined) return { accountId: null, apiKeyId: key, target };
  return { accountId: global ? null : (await resolveAccount(context, account)).id, apiKeyId: null, target };
}

/** Parses a whole number and rejects any other characters. */
function countOf(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new PlatformError('INVALID_REQUEST', `${name} must be a whole number, 0 or more.`);
}

function nameOf({ accountId, apiKeyId, target }: Subject): string {
  const ownerName = apiKeyId === null ? (accountId ?? 'the whole installation') : `key ${apiKeyId}`;
  return target === '*' ? ownerName : `${ownerName}, ${target}`;
}

/** `sluice limits list`: the default limits and their overrides. */
async function listLimits(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const prisma = await context.requireDatabase();
  const { limitClasses, LimitOverridesRepository, limitTable } = await import('#rate-limit');
  const overrides = await new LimitOverridesRepository(prisma).list();
  if (json) return context.output.json({ table: limitTable, overrides });
  const cell = (limit: number | null): string => (limit === null ? '-' : String(limit));
  context.output.table(
    ['CLASS', 'RPM', 'TPM', 'PARTNER RPM', 'PARTNER TPM'],
    limitClasses.map((name) => {
      const { default: plain, partner } = limitTable[name];
      return [name, ...[plain.requests, plain.tokens, partner.requests, partner.tokens].map(cell)];
    }),
  );
  context.output.line();
  if (overrides.length === 0) return context.output.line('nothing was set instead');
  context.output.table(
    ['WHOSE', 'FOR', 'RPM', 'TPM', 'CONCURRENT'],
    overrides.map(({ accountId, apiKeyId, target, requests, tokens, concurrent = null }) => [
      apiKeyId === null ? (accountId ?? 'everybody') : `key ${apiKeyId}`,
      target,
      cell(requests),
      cell(tokens),
      cell(concurrent),
    ]),
  );
}
