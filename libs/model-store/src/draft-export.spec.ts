import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundledManifestFolder, loadManifestFolder } from '#model-registry/manifest';
import { WeightsServer } from '#test/weights-server';
import { draftManifest } from './draft-manifest.js';
import type { DraftOptions } from './draft.js';

let server: WeightsServer;

beforeEach(async () => (server = await WeightsServer.start()));
afterEach(() => server.close());

const graph = Buffer.from('a graph');
const json = (content: object): Buffer => Buffer.from(JSON.stringify(content));
const commit = 'a'.repeat(40);

/** Adds a repository with these graphs in `onnx/`, and returns its reference. */
function addExport(graphs: readonly string[], config: object, others: Record<string, Buffer> = {}): string {
  server.addRepository('team/Exported-ONNX', commit, {
    'config.json': json(config),
    'tokenizer.json': json({}),
    ...others,
    ...Object.fromEntries(graphs.map((name) => [`onnx/${name}`, graph])),
  });
  return 'hf:team/Exported-ONNX';
}

const draft = (source: string, options: DraftOptions = {}) =>
  draftManifest(source, { hubEndpoint: server.url }, options);

const whisper = { model_type: 'whisper', architectures: ['WhisperForConditionalGeneration'], d_model: 512 };
const whisperGraphs = ['encoder_model', 'decoder_model_merged'].flatMap((name) => [
  `${name}.onnx`,
  `${name}.onnx_data`,
  `${name}_quantized.onnx`,
  `${name}_fp16.onnx`,
]);

describe('the draft of an export of several graphs', () => {
  it('is a transcription model with voice detection, for Whisper of any size', async () => {
    const source = addExport([...whisperGraphs, 'decoder_with_past_model_quantized.onnx'], whisper);
    const { manifest, facts } = await draft(source);
    expect(manifest).toMatchObject({
      id: 'exported',
      type: 'asr',
      family: 'whisper',
      graphFile: 'onnx/encoder_model_quantized.onnx',
      familyOptions: {
        decoderFile: 'onnx/decoder_model_merged_quantized.onnx',
        voiceActivityFile: 'silero_vad.onnx',
      },
      capabilities: { supportsAudioInput: true, quantization: 'int8' },
      pricing: { per_audio_second: { usd: 0, diem: 0 } },
    });
    const [model, voice] = manifest.sources;
    expect(model?.uri).toBe(`hf:team/Exported-ONNX@${commit}`);
    expect(model?.files.map(({ path }) => path).sort()).toEqual([
      'config.json',
      'onnx/decoder_model_merged_quantized.onnx',
      'onnx/encoder_model_quantized.onnx',
      'tokenizer.json',
    ]);
    expect(voice?.files).toEqual([expect.objectContaining({ as: 'silero_vad.onnx', bytes: 2_327_524 })]);
    const bundled = await loadManifestFolder(bundledManifestFolder());
    expect(voice).toEqual(bundled.find(({ id }) => id === 'whisper-tiny')?.sources[1]);
    expect(facts).toMatchObject({ decoder: null, family: { size: { family: 'whisper', config: whisper } } });
  });

  it('takes the external data of its graphs, and another precision of one that has no other', async () => {
    const source = addExport(
      ['encoder_model.onnx', 'encoder_model.onnx_data', 'decoder_model_merged_fp16.onnx', 'decoder_model.onnx'],
      whisper,
    );
    const { manifest } = await draft(source);
    expect(manifest.graphFile).toBe('onnx/encoder_model.onnx');
    expect(manifest.familyOptions).toMatchObject({ decoderFile: 'onnx/decoder_model_merged_fp16.onnx' });
    expect(manifest.sources[0]?.files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['onnx/encoder_model.onnx_data']),
    );
    expect(manifest.capabilities.quantization).toBe('not-available');
  });

  it('is a chat model that reads images, with what an image takes', async () => {
    const graphs = ['decoder_model_merged', 'embed_tokens', 'vision_encoder'].flatMap((name) => [
      `${name}.onnx`,
      `${name}_q4.onnx`,
    ]);
    const config = {
      model_type: 'idefics3',
      scale_factor: 4,
      vision_config: { image_size: 512, patch_size: 16 },
      text_config: { max_position_embeddings: 16_384 },
    };
    const source = addExport(graphs, config, {
      'preprocessor_config.json': json({ size: { longest_edge: 2_048 }, max_image_size: { longest_edge: 512 } }),
      'processor_config.json': json({ image_seq_len: 64 }),
      'chat_template.jinja': Buffer.from('{{ messages }}'),
    });
    const { manifest } = await draft(source, { contextLength: 4_096, inputPriceUsd: 1 });
    expect(manifest).toMatchObject({
      type: 'text',
      family: 'vision-language',
      graphFile: 'onnx/decoder_model_merged_q4.onnx',
      familyOptions: {
        visionEncoder: 'onnx/vision_encoder_q4.onnx',
        embedTokens: 'onnx/embed_tokens_q4.onnx',
        // Sixteen tiles of 64 and 2 tokens, four rows and the last one, and the whole image in 64 and 3.
        imageTokens: 16 * 66 + 5 + 67,
        frameTokens: 67,
      },
      contextLength: 4_096,
      capabilities: { supportsVision: true, supportsMultipleImages: true, maxImages: 4, quantization: 'int4' },
      pricing: { input: { usd: 1 } },
    });
    expect(manifest.sources[0]?.files).toContainEqual(expect.objectContaining({ path: 'chat_template.jinja' }));
  });

  it('is a music model, for MusicGen', async () => {
    const source = addExport(
      ['decoder_model_merged_quantized.onnx', 'text_encoder_quantized.onnx', 'encodec_decode.onnx'],
      { model_type: 'musicgen' },
    );
    const { manifest } = await draft(source);
    expect(manifest).toMatchObject({
      type: 'music',
      family: 'musicgen',
      familyOptions: { textEncoderFile: 'onnx/text_encoder_quantized.onnx', codecFile: 'onnx/encodec_decode.onnx' },
      kindMembers: { max_duration: 30 },
    });
  });

  it('is refused before the download where MusicGen generates stereo', async () => {
    const graphs = ['decoder_model_merged.onnx', 'text_encoder.onnx', 'encodec_decode.onnx'];
    const source = addExport(graphs, { model_type: 'musicgen', decoder: { audio_channels: 2 } });
    await expect(draft(source)).rejects.toMatchObject({ code: 'INVALID_MODEL' });
  });

  const pipelineParts = ['text_encoder', 'unet', 'vae_decoder'];

  /** Adds a pipeline with graphs in these folders. */
  function addPipeline(className: string, parts: readonly string[] = pipelineParts, name = 'team/Painter'): string {
    const graphs = parts.flatMap((part) => [`${part}/model.onnx`, `${part}/config.json`]);
    server.addRepository(name, commit, {
      'model_index.json': json({ _class_name: className }),
      'scheduler/scheduler_config.json': json({}),
      'tokenizer/vocab.json': json({}),
      'tokenizer/merges.txt': Buffer.from(''),
      'unet/model.onnx_data': graph,
      'unet/diffusion_pytorch_model.safetensors': graph,
      ...Object.fromEntries(graphs.map((path) => [path, path.endsWith('.json') ? json({}) : graph])),
    });
    return `hf:${name}`;
  }

  it('is an image model, for a pipeline of the diffusers layout', async () => {
    const { manifest, facts } = await draft(addPipeline('ORTStableDiffusionPipeline'));
    expect(manifest).toMatchObject({
      type: 'image',
      family: 'stable-diffusion',
      graphFile: 'unet/model.onnx',
      familyOptions: { guidance: 7.5 },
      constraints: { steps: { default: 20, max: 50 } },
    });
    const paths = manifest.sources[0]?.files.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['model_index.json', 'unet/model.onnx_data', 'tokenizer/merges.txt']));
    expect(paths).not.toContain('unet/diffusion_pytorch_model.safetensors');
    expect(facts.summary).toBe('ORTStableDiffusionPipeline, ONNX graphs unet/model.onnx');
  });

  it.each([
    ['StableDiffusionXLPipeline', 'team/sdxl-turbo', { guidance: 0, steps: { default: 1, max: 4 } }],
    ['LatentConsistencyModelPipeline', 'team/Dreamer', { guidance: 8.5, steps: { default: 4, max: 8 } }],
  ])('draws in few steps as a %s of %s', async (className, name, { guidance, steps }) => {
    const { manifest } = await draft(addPipeline(className, [...pipelineParts, 'text_encoder_2'], name));
    expect(manifest).toMatchObject({ familyOptions: { guidance }, constraints: { steps } });
  });

  it('is a video model, for text to video', async () => {
    const { manifest } = await draft(addPipeline('TextToVideoSDPipeline'));
    expect(manifest).toMatchObject({ type: 'video', family: 'text-to-video-sd', kindMembers: { frame_rates: [8] } });
  });

  it.each([
    [['unet', 'vae_decoder'], 'StableDiffusionPipeline', 'holds no graph text_encoder/model.onnx'],
    [pipelineParts, 'StableDiffusionXLPipeline', 'holds no graph text_encoder_2/model.onnx'],
    [pipelineParts, 'FluxPipeline', 'holds a FluxPipeline; of pipelines, Stable Diffusion 1, 2 and XL'],
  ])('is refused with %j for a %s: it %s', async (parts, className, reason) => {
    await expect(draft(addPipeline(className, parts))).rejects.toThrow(reason);
  });

  it('names the graph that is missing', async () => {
    const source = addExport(['decoder_model_merged.onnx', 'vision_encoder.onnx'], { model_type: 'llava' });
    await expect(draft(source)).rejects.toThrow(
      'hf:team/Exported-ONNX holds no graph onnx/embed_tokens.onnx, which a model of type llava needs',
    );
  });

  it.each<[DraftOptions, string]>([
    [{ weights: 'int8' }, '--weights'],
    [{ contextLength: 100 }, '--context'],
    [{ purpose: 'embedding' }, '--purpose'],
    [{ inputPriceUsd: 1 }, '--input-price'],
  ])('refuses %j, which would change nothing', async (options, flag) => {
    const source = addExport(whisperGraphs, whisper);
    await expect(draft(source, options)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining(`${flag} changes nothing`) as string,
    });
  });
});
