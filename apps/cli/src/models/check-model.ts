import { PlatformError } from '#common';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { requireInstalled } from './adapter-base.js';
import { checkEmbedding } from './check-embedding.js';
import { checkVideo, videoFamily } from './check-video.js';
import type { CheckOptions } from './check-host.js';
import { checkMusic, checkSpeech } from './check-audio.js';
import { checkImage, isImageFamily } from './check-image.js';
import { checkPerplexity } from './check-perplexity.js';
import { checkRerank } from './check-rerank.js';
import { checkText } from './check-text.js';
import { checkTranscription } from './check-transcription.js';
import { findKnownModel } from './known-models.js';

/**
 * Loads an installed model in a host of its own, as a worker would, and runs one prompt, image, or a few seconds of
 * audio or video.
 */
export async function checkModel(context: CliContext, name: string, options: CheckOptions): Promise<void> {
  const { manifest, installed } = await findKnownModel(context, name);
  if (!installed) {
    const message = `${manifest.id} is not installed. Install it with: sluice models pull ${manifest.id}`;
    throw new PlatformError('MODEL_NOT_FOUND', message);
  }
  await checkInstalled(context, installed, options);
}

/** The same for what is on this disk, without a look at the registry. */
export async function checkInstalled(
  context: CliContext,
  installed: InstalledModel,
  options: CheckOptions,
): Promise<void> {
  const { manifest } = installed;
  if (manifest.adapterOf !== undefined) {
    return await checkAdapter(context, { installed, base: manifest.adapterOf }, options);
  }
  if (options.perplexity) return await checkPerplexity(context, installed, options);
  if (options.text !== undefined || options.beside !== undefined) {
    throw new PlatformError('INVALID_REQUEST', '--text and --beside belong to --perplexity.');
  }
  if (options.image !== undefined && manifest.family !== 'vision-language') {
    const message = `--image is for models of the family vision-language; ${manifest.id} is of ${manifest.family}.`;
    throw new PlatformError('INVALID_REQUEST', message);
  }
  if (manifest.type === 'text') return await checkText(context, installed, options);
  if (manifest.type === 'embedding') return await checkEmbedding(context, installed, options);
  if (manifest.type === 'rerank') return await checkRerank(context, installed, options);
  if (options.audio !== undefined && manifest.type !== 'asr') {
    throw new PlatformError(
      'INVALID_REQUEST',
      `--audio is for transcription models; ${manifest.id} is of type ${manifest.type}.`,
    );
  }
  if (manifest.type === 'asr') return await checkTranscription(context, installed, options);
  if (manifest.type === 'tts') return await checkSpeech(context, installed, options);
  if (manifest.type === 'music') return await checkMusic(context, installed, options);
  if (manifest.family === videoFamily) return await checkVideo(context, installed, options);
  if (isImageFamily(manifest.family)) return await checkImage(context, installed, options);
  const message = `${manifest.id} (${manifest.type}, family ${manifest.family}) cannot be checked: only text, embedding, rerank, speech, transcription, image, music and text-to-video models can.`;
  throw new PlatformError('INVALID_MODEL', message);
}

async function checkAdapter(
  context: CliContext,
  { installed, base }: { installed: InstalledModel; base: string },
  options: CheckOptions,
): Promise<void> {
  if (options.image !== undefined) {
    throw new PlatformError('INVALID_REQUEST', '--image is for whole models that read images, not adapters.');
  }
  if (options.perplexity || options.text !== undefined || options.beside !== undefined) {
    throw new PlatformError('INVALID_REQUEST', '--perplexity measures whole models, not adapters.');
  }
  await checkText(context, { ...installed, base: await requireInstalled(context.config.home, base) }, options);
}
