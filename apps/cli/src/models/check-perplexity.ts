import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '#common';
import { bundledManifestFolder } from '#model-registry/manifest';
import type { InstalledModel } from '#model-store';
import { availableProcessors } from '#platform/process';
import type { CliContext } from '../cli-context.js';
import { type CheckOptions, wholeNumber } from './check-host.js';
import { findKnownModel } from './known-models.js';
import { type MeasuredLosses, measureLosses, type PerplexityTask } from './measure-losses.js';

/** Tokens of a window, if the context is not shorter. A quarter of each window is only context. */
const longestWindow = 128;

function sizesFor(models: readonly InstalledModel[]): PerplexityTask['sizes'] {
  const window = Math.min(longestWindow, ...models.map(({ manifest }) => manifest.contextLength ?? longestWindow));
  return { window, warmup: Math.ceil(window / 4), rows: 4 };
}

interface PerplexityResult {
  id: string;
  provider: string;
  /** Scored tokens. */
  tokens: number;
  perplexity: number;
  /** Against the other model, in nats per token, with the standard error of paired tokens. */
  loss?: Loss;
}

interface Loss {
  beside: string;
  perplexity: number;
  difference: number;
  error: number;
}

/** Measures the perplexity of a decoder on a text, and what it loses against another one with the same tokenizer. */
export async function checkPerplexity(
  context: CliContext,
  model: InstalledModel,
  options: CheckOptions,
): Promise<void> {
  assertDecoder(model);
  const other = options.beside === undefined ? null : await findInstalled(context, options.beside);
  const task = {
    text: await readText(options.text),
    sizes: sizesFor(other === null ? [model] : [model, other]),
    threads: options.threads === undefined ? availableProcessors() : wholeNumber(options.threads, '--threads'),
    provider: options.provider,
    signal: context.signal,
  };
  const measured = await measureLosses(model, task);
  const result = describe(model.manifest.id, measured);
  if (other !== null) {
    const reference = await measureLosses(other, task);
    assertSameTokens(model, measured, { other, reference });
    const { difference, error } = compareLosses(measured.losses, reference.losses);
    result.loss = { beside: other.manifest.id, perplexity: perplexityOf(reference), difference, error };
  }
  if (options.json) return context.output.json(result);
  print(context, result);
}

function assertDecoder({ manifest }: InstalledModel): void {
  if (manifest.family === 'decoder') return;
  throw new PlatformError('INVALID_MODEL', `--perplexity is for text models; ${manifest.id} is ${manifest.family}.`);
}

async function findInstalled(context: CliContext, id: string): Promise<InstalledModel> {
  const { manifest, installed } = await findKnownModel(context, id);
  if (installed === null) throw new PlatformError('MODEL_NOT_FOUND', `${manifest.id}, of --beside, is not installed.`);
  assertDecoder(installed);
  return installed;
}

async function readText(path: string | undefined): Promise<string> {
  if (path === undefined) return await readFile(join(bundledManifestFolder(), 'perplexity-text.txt'), 'utf8');
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new PlatformError('INVALID_REQUEST', `The file ${path} of --text cannot be read.`, null, { cause: error });
  }
}

function assertSameTokens(
  { manifest }: InstalledModel,
  measured: MeasuredLosses,
  { other, reference }: { other: InstalledModel; reference: MeasuredLosses },
): void {
  const { tokens } = reference;
  if (tokens.length === measured.tokens.length && tokens.every((id, index) => id === measured.tokens[index])) return;
  const message = `${manifest.id} and ${other.manifest.id} have different tokenizers, so that their losses cannot be compared.`;
  throw new PlatformError('INVALID_REQUEST', message);
}

function perplexityOf({ losses }: MeasuredLosses): number {
  return Math.exp(meanOf(losses));
}

function describe(id: string, measured: MeasuredLosses): PerplexityResult {
  const { provider, losses } = measured;
  return { id, provider, tokens: losses.length, perplexity: perplexityOf(measured) };
}

function print({ output }: CliContext, { id, provider, tokens, perplexity, loss }: PerplexityResult): void {
  output.line(`${id} on ${provider}: perplexity ${perplexity.toFixed(3)} over ${tokens} tokens; lower is better`);
  if (loss === undefined) return;
  output.line(`${loss.beside}: perplexity ${loss.perplexity.toFixed(3)} over the same tokens`);
  output.line(describeLoss(id, loss));
}

/** Errors of a difference within which it may be chance. */
const chanceErrors = 2;

/** What a precision costs, in words: nats per token, and what they do to the perplexity. */
export function describeLoss(id: string, { beside, difference, error }: Loss): string {
  const amount = `${Math.abs(difference).toFixed(4)} ± ${error.toFixed(4)} nats per token`;
  const percent = Math.abs(Math.expm1(difference) * 100);
  const change = `${percent.toFixed(percent < 1 ? 2 : 1)} % ${difference < 0 ? 'lower' : 'higher'}`;
  const verb = difference < 0 ? 'gains' : 'loses';
  const fact = `${id} ${verb} ${amount} against ${beside}: its perplexity is ${change}`;
  return Math.abs(difference) <= chanceErrors * error || difference === 0
    ? `${fact}, too little to tell them apart on this text`
    : fact;
}

function meanOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Mean difference of paired losses with its standard error, in nats per token. */
function compareLosses(losses: Float64Array, reference: Float64Array): { difference: number; error: number } {
  const differences = losses.map((loss, index) => loss - (reference[index] ?? NaN));
  const difference = meanOf(differences);
  const variance = meanOf(differences.map((value) => (value - difference) ** 2));
  return { difference, error: Math.sqrt(variance / differences.length) };
}
