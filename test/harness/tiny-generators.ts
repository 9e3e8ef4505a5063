import type { ModelManifest } from '#model-registry/manifest';
import { installTiny } from './tiny-images.js';

/*
 * A MusicGen and a text-to-video pipeline of random weights, in the published layouts. Their output is noise of the
 * right length and size; for tests only.
 */

const price = (usd: number) => ({ usd, diem: usd });
/** Fixtures are not compiled: benches, which run from `dist`, read them from the sources. */
const root = new URL(import.meta.url.includes('/dist/test/harness/') ? '../../../' : '../../', import.meta.url);
const families = new URL('libs/inference/src/families/', root);
/** The real sizes of the network, which its fixture leaves out: without them it counts as one of Stable Diffusion 1. */
const unetSizes = {
  block_out_channels: [4, 8],
  layers_per_block: 1,
  attention_head_dim: 4,
  down_block_types: ['DownBlock3D', 'DownBlock3D'],
};

/** Music of 1 to 4 seconds as WAV: up to 2 s for 0.01 USD, longer for 0.03. */
export async function installTinyMusicgen(home: string): Promise<ModelManifest> {
  return await installTiny(home, {
    manifest: {
      id: 'tiny-musicgen',
      type: 'music',
      family: 'musicgen',
      graphFile: 'onnx/decoder_model_merged.onnx',
      traits: { default: 1 },
      kindMembers: {
        supports_lyrics: false,
        supports_force_instrumental: true,
        min_duration: 1,
        max_duration: 4,
        default_duration: 2,
        supported_formats: ['wav', 'mp3', 'flac'],
        default_format: 'wav',
        prompt_character_limit: 100,
      },
      pricing: {
        durations: {
          short: { ...price(0.01), min_seconds: 1, max_seconds: 2 },
          long: { ...price(0.03), min_seconds: 3, max_seconds: 4 },
        },
      },
    },
    folder: new URL('musicgen/__fixtures__/tiny/', families),
  });
}

/** Videos of 1 or 2 seconds at 8 frames per second, 32 pixels on the short side, 0.05 USD per second. */
export async function installTinyTextToVideo(
  home: string,
  { durations = ['1s', '2s', 'auto'], hasSizes = false }: { durations?: string[]; hasSizes?: boolean } = {},
): Promise<ModelManifest> {
  return await installTiny(home, {
    manifest: {
      id: 'tiny-text-to-video',
      type: 'video',
      family: 'text-to-video-sd',
      graphFile: 'unet/model.onnx',
      familyOptions: { steps: 3, guidance: 4, sizeDivisor: 4, shortSide: 32 },
      constraints: {
        model_type: 'text-to-video',
        aspect_ratios: ['16:9', '1:1'],
        resolutions: [],
        durations,
        audio: false,
        audio_configurable: false,
        prompt_character_limit: 100,
      },
      kindMembers: { supported_inputs: ['negative_prompt', 'seed'], frame_rates: [8] },
      pricing: { per_second: price(0.05) },
    },
    folder: new URL('text-to-video-sd/__fixtures__/tiny/', families),
    files: hasSizes
      ? { 'unet/config.json': JSON.stringify({ _class_name: 'UNet3DConditionModel', in_channels: 4, ...unetSizes }) }
      : {},
  });
}
