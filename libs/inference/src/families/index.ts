import type { EngineLoader } from '../contract/engine-loader.js';
import { assertFamily, type FamilyName } from '../contract/family-names.js';
import { loadCocoSsdFamily } from './coco-ssd/coco-ssd.family.js';
import { loadCrossEncoderFamily } from './cross-encoder/cross-encoder.family.js';
import { loadDecoderFamily } from './decoder/decoder.family.js';
import { loadEsrganFamily } from './esrgan/esrgan.family.js';
import { loadKokoroFamily } from './kokoro/kokoro.family.js';
import { loadMattingFamily } from './matting/matting.family.js';
import { loadMiganFamily } from './migan/migan.family.js';
import { loadNsfwMobilenetFamily } from './nsfw-mobilenet/nsfw-mobilenet.family.js';
import { loadParakeetFamily } from './parakeet/parakeet.family.js';
import { loadPiperFamily } from './piper/piper.family.js';
import { loadPpOcrFamily } from './pp-ocr/pp-ocr.family.js';
import { loadRifeFamily } from './rife/rife.family.js';
import { loadStableDiffusionFamily } from './stable-diffusion/stable-diffusion.family.js';
import { loadMoonshineFamily } from './moonshine/moonshine.family.js';
import { loadMusicgenFamily } from './musicgen/musicgen.family.js';
import { loadTextClassificationFamily } from './text-classification/text-classification.family.js';
import { loadTextEmbeddingFamily } from './text-embedding/text-embedding.family.js';
import { loadTextToVideoFamily } from './text-to-video-sd/text-to-video-sd.family.js';
import { loadTinyTtsFamily } from './tiny-tts/tiny-tts.family.js';
import { loadVisionLanguageFamily } from './vision-language/vision-language.family.js';
import { loadWhisperFamily } from './whisper/whisper.family.js';

/** To add a family, add a folder, a name in `familyNames` and a line here. */
export const families: Readonly<Record<FamilyName, EngineLoader>> = {
  'coco-ssd': loadCocoSsdFamily,
  'cross-encoder': loadCrossEncoderFamily,
  decoder: loadDecoderFamily,
  esrgan: loadEsrganFamily,
  kokoro: loadKokoroFamily,
  matting: loadMattingFamily,
  migan: loadMiganFamily,
  modnet: loadMattingFamily,
  'nsfw-mobilenet': loadNsfwMobilenetFamily,
  parakeet: loadParakeetFamily,
  piper: loadPiperFamily,
  'pp-ocr': loadPpOcrFamily,
  rife: loadRifeFamily,
  'stable-diffusion': loadStableDiffusionFamily,
  u2net: loadMattingFamily,
  moonshine: loadMoonshineFamily,
  musicgen: loadMusicgenFamily,
  'text-classification': loadTextClassificationFamily,
  'text-embedding': loadTextEmbeddingFamily,
  'text-to-video-sd': loadTextToVideoFamily,
  'tiny-tts': loadTinyTtsFamily,
  'vision-language': loadVisionLanguageFamily,
  whisper: loadWhisperFamily,
};

/**
 * Opens a model with the family that its manifest names. Rejects with `INVALID_MODEL` if that family does not exist.
 */
export const loadFamilyEngine: EngineLoader = async (options, sink) => {
  const { family, modelId } = options;
  assertFamily(family, modelId);
  return await families[family](options, sink);
};
