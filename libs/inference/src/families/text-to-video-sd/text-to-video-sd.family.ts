import { join } from 'node:path';
import { PlatformError } from '#common';
import { QueuedTaskEngine } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import type { AnimateInput, FrameLatents } from '../../images/video-tasks.js';
import { Autoencoder } from '../stable-diffusion/autoencoder.js';
import { ClipTokenizer } from '../stable-diffusion/clip-tokenizer.js';
import { readPipelineConfig } from '../stable-diffusion/pipeline-files.js';
import { PipelineSessions } from '../stable-diffusion/pipeline-sessions.js';
import { PromptEncoder } from '../stable-diffusion/prompt-encoder.js';
import { VideoGenerator } from './video-generator.js';

/** Defaults of the reference pipeline. */
const defaultSteps = 50;
const defaultGuidance = 9;

/**
 * `TextToVideoSDPipeline` of the diffusers layout (ModelScope, Zeroscope and their derivatives), exported to ONNX. Its
 * parts are `text_encoder/`, `unet/` (latents with a frame axis), `vae_decoder/` (single frames), `tokenizer/`,
 * `scheduler/` and `model_index.json`. `familyOptions`: `steps`, `guidance`, and `scheduler`, which replaces the
 * scheduler's class.
 */
export const loadTextToVideoFamily: EngineLoader = async (options, sink) => {
  const { directory, familyOptions } = options;
  const config = await readPipelineConfig(directory);
  if (config.pipelineClass !== 'TextToVideoSDPipeline') {
    throw new PlatformError('INVALID_MODEL', `A ${config.pipelineClass} is not a TextToVideoSDPipeline.`);
  }
  if (typeof familyOptions.scheduler === 'string') config.scheduler._class_name = familyOptions.scheduler;
  const sessions = new PipelineSessions(options);
  const unet = await sessions.open('unet');
  const tokenizer = await ClipTokenizer.load(join(directory, 'tokenizer'));
  const encoder = new PromptEncoder([{ tokenizer, session: await sessions.open('text_encoder') }], false);
  const decoder = await sessions.open('vae_decoder');
  const maker = new VideoGenerator({
    config,
    encoder,
    unet,
    operations: sessions.latentsOf(unet),
    autoencoder: new Autoencoder({ decoder, encoder: null, scale: config.latentScale }),
    steps: Number(familyOptions.steps ?? defaultSteps),
    guidance: Number(familyOptions.guidance ?? defaultGuidance),
  });
  const engine = new QueuedTaskEngine({
    handlers: {
      animate: (input: AnimateInput, context) => maker.animate(input, context),
      develop: (input: FrameLatents, context) => maker.develop(input, context),
    },
    sink,
    onClose: () => sessions.close(),
  });
  return { engine, provider: unet.provider, providerNote: unet.providerNote, slots: 1, run: config.run };
};
