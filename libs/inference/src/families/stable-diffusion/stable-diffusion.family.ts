import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { QueuedTaskEngine } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import type { GenerateInput } from '../../images/image-tasks.js';
import { Autoencoder } from './autoencoder.js';
import { ClipTokenizer } from './clip-tokenizer.js';
import { ImageGenerator } from './image-generator.js';
import { readPipelineConfig } from './pipeline-files.js';
import { PipelineSessions } from './pipeline-sessions.js';
import { PromptEncoder, type TextEncoder } from './prompt-encoder.js';

/**
 * Stable Diffusion 1, 2 and XL and their turbo and latent-consistency variants, in the diffusers layout exported to
 * ONNX. The folders are `text_encoder/`, `text_encoder_2/` (XL), `unet/`, `vae_decoder/`, `vae_encoder/` (for
 * image-to-image), `tokenizer/`, `tokenizer_2/` and `scheduler/`, beside `model_index.json`. `familyOptions.scheduler`
 * replaces the scheduler's class, for example with `EulerAncestralDiscreteScheduler`.
 */
export const loadStableDiffusionFamily: EngineLoader = async (options, sink) => {
  const { directory, familyOptions } = options;
  const config = await readPipelineConfig(directory);
  if (typeof familyOptions.scheduler === 'string') config.scheduler._class_name = familyOptions.scheduler;
  const sessions = new PipelineSessions(options);
  const unet = await sessions.open('unet');
  const encoders: TextEncoder[] = [];
  for (const suffix of ['', '_2']) {
    if (suffix !== '' && !(await exists(join(directory, `text_encoder${suffix}`)))) continue;
    const tokenizer = await ClipTokenizer.load(join(directory, `tokenizer${suffix}`));
    encoders.push({ tokenizer, session: await sessions.open(`text_encoder${suffix}`) });
  }
  const maker = new ImageGenerator({
    config,
    unet,
    operations: sessions.latentsOf(unet),
    encoder: new PromptEncoder(encoders, config.zerosForEmpty),
    autoencoder: new Autoencoder({
      decoder: await sessions.open('vae_decoder'),
      encoder: (await exists(join(directory, 'vae_encoder'))) ? await sessions.open('vae_encoder') : null,
      scale: config.latentScale,
    }),
  });
  const engine = new QueuedTaskEngine({
    handlers: { generate: (input: GenerateInput, context) => maker.make(input, context) },
    sink,
    onClose: () => sessions.close(),
  });
  return { engine, provider: unet.provider, providerNote: unet.providerNote, slots: 1, run: config.run };
};

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
