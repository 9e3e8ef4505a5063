import type { ExportedModel } from './source/exported-model.js';

/** Tokens of an image or frame where a model takes any size: quotes stay small, and text of a page is legible. */
const chosenTokens = { imageTokens: 1_024, frameTokens: 256 };

/** Sides that the processors take where the files name none. */
const defaults = {
  longestEdge: 4 * 364,
  tileSide: 364,
  tileTokens: 169,
  squareTokens: 256,
  crops: 4,
  cropWords: 75,
  cropSide: 336,
  patch: 14,
  longestSide: 4_096,
};

/**
 * Returns the most prompt tokens that an image and a frame of a video take, by which requests are quoted. The load
 * fails where they are too few; `processor.maxImageTokens` of the family is the same number.
 */
export function imageTokensOf({ config, preprocessor }: Pick<ExportedModel, 'config' | 'preprocessor'>): {
  imageTokens: number;
  frameTokens: number;
} {
  if (config['model_type'] === 'gemma3') return gemmaTokens(config, preprocessor);
  if (String(config['model_type']).startsWith('qwen')) return chosenTokens;
  if (config['model_type'] === 'llava_next') return anyResolutionTokens(config);
  return config['model_type'] === 'llava' ? cropTokens(config, preprocessor) : tileTokens(config, preprocessor);
}

type Settings = Record<string, unknown>;

/** Idefics3 and SmolVLM: two tokens around each tile, a line break behind each row and the last, three around the whole. */
function tileTokens(config: Settings, preprocessor: Settings): { imageTokens: number; frameTokens: number } {
  const edge = sideOf(preprocessor['size'], 'longest_edge') ?? defaults.longestEdge;
  const side = sideOf(preprocessor['max_image_size'], 'longest_edge') ?? defaults.tileSide;
  const tokens = numberOf(preprocessor['image_seq_len']) ?? tokensOfTile(config) ?? defaults.tileTokens;
  const splits = preprocessor['do_image_splitting'] !== false;
  const tiles = splits ? Math.ceil(Math.min(edge, defaults.longestSide) / side) : 0;
  return { imageTokens: tiles * tiles * (tokens + 2) + tiles + 1 + tokens + 3, frameTokens: tokens + 3 };
}

function tokensOfTile(config: Settings): number | undefined {
  const { image_size: side, patch_size: patch } = objectOf(config['vision_config']);
  const factor = numberOf(config['scale_factor']);
  if (typeof side !== 'number' || typeof patch !== 'number' || factor === undefined) return undefined;
  return Math.floor(Math.floor(side / patch) ** 2 / factor ** 2);
}

/** Gemma 3: a square has as many tokens, two that begin and end it, and line breaks of up to four; crops have words. */
function gemmaTokens(config: Settings, preprocessor: Settings): { imageTokens: number; frameTokens: number } {
  const tokens = (numberOf(objectOf(config['vision_config'])['tokens']) ?? defaults.squareTokens) + 6;
  if (preprocessor['do_pan_and_scan'] !== true) return { imageTokens: tokens, frameTokens: tokens };
  const crops = numberOf(preprocessor['pan_and_scan_max_num_crops']) ?? defaults.crops;
  return { imageTokens: (1 + crops) * tokens + defaults.cropWords + crops - 1, frameTokens: tokens };
}

/** LLaVA: one token per patch of a square of fixed size, and those that the encoder adds. */
function cropTokens(config: Settings, preprocessor: Settings): { imageTokens: number; frameTokens: number } {
  const { size, crop_size: crop } = preprocessor;
  const used = preprocessor['do_center_crop'] !== false && crop !== undefined ? crop : size;
  const edge = sideOf(size, 'shortest_edge') ?? defaults.cropSide;
  const vision = objectOf(config['vision_config']);
  const patch = numberOf(preprocessor['patch_size']) ?? numberOf(vision['patch_size']) ?? defaults.patch;
  const patches = (name: string): number => Math.floor((sideOf(used, name) ?? edge) / patch);
  const added = numberOf(preprocessor['num_additional_image_tokens']) ?? 0;
  const strategy = preprocessor['vision_feature_select_strategy'] ?? config['vision_feature_select_strategy'];
  // The first position of CLIP stands for the whole image; the default strategy leaves it out.
  const first = strategy === undefined || strategy === 'default' ? Math.min(1, added) : 0;
  const tokens = patches('width') * patches('height') + added - first;
  return { imageTokens: tokens, frameTokens: tokens };
}

/** LLaVA 1.6: those of the whole image, and of the largest resolution with the ends of its rows; a frame has one end. */
function anyResolutionTokens(config: Settings): { imageTokens: number; frameTokens: number } {
  const vision = objectOf(config['vision_config']);
  const side = numberOf(vision['image_size']) ?? defaults.cropSide;
  const grid = Math.floor(side / (numberOf(vision['patch_size']) ?? defaults.patch));
  // The converter checked them.
  const resolutions = config['image_grid_pinpoints'] as number[][];
  const tokens = resolutions.map(([height = 0, width = 0]) => {
    return ((width / side) * grid + 1) * (height / side) * grid;
  });
  return { imageTokens: grid ** 2 + Math.max(...tokens), frameTokens: grid ** 2 + 1 };
}

/** A size may be a number, or an object of named sides. */
function sideOf(size: unknown, name: string): number | undefined {
  return numberOf(size) ?? numberOf(objectOf(size)[name]);
}

function objectOf(value: unknown): Settings {
  return typeof value === 'object' && value !== null ? (value as Settings) : {};
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined;
}
