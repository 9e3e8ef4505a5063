/*
 * Networks that separate foreground from background, as `familyOptions` of a manifest describe them. Values are strings
 * and numbers, because options of a family are flat.
 */

type Rgb = readonly [number, number, number];

/** The size of images that a network takes: always the same, or that of the image within bounds. */
export type MattingSize =
  | { kind: 'fixed'; width: number; height: number }
  /** The shorter side is `shortSide`, or less where the longer one would exceed `maxLongSide`. */
  | { kind: 'scaled'; shortSide: number; maxLongSide: number; multipleOf: number };

export const resamplingFilters = ['bilinear', 'bicubic', 'lanczos'] as const;
export const postprocesses = ['none', 'sigmoid', 'min-max'] as const;

/** How a network wants its input image, and how its output becomes a matte. */
export interface MattingNetwork {
  size: MattingSize;
  resampling: (typeof resamplingFilters)[number];
  /** Factor of the samples, which are 0 to 255. */
  scale: number;
  /** Subtracted from the scaled samples of each channel. */
  mean: Rgb;
  /** Divisors of the differences. */
  deviation: Rgb;
  /** Name of the output; null: the first one. */
  output: string | null;
  /** `none`: the output is the matte; `sigmoid`: it is logits; `min-max`: its least value is background, its greatest foreground. */
  postprocess: (typeof postprocesses)[number];
}

/** The network, or what is wrong with its options, by their paths in the manifest. */
export interface ReadNetwork {
  network: MattingNetwork | null;
  problems: { path: string; message: string }[];
}

export const mattingOptionNames = [
  'width',
  'height',
  'shortSide',
  'maxLongSide',
  'multipleOf',
  'resampling',
  'scale',
  'mean',
  'deviation',
  'output',
  'postprocess',
] as const;

type OptionName = (typeof mattingOptionNames)[number];
type Options = Readonly<Partial<Record<OptionName, unknown>>>;

/** Options of the families; what a manifest says wins. */
const presets: Readonly<Record<string, Options>> = {
  matting: {},
  // MODNet (https://arxiv.org/abs/2011.11961): the output is the matte.
  modnet: { shortSide: 512, multipleOf: 32, mean: 0.5, deviation: 0.5, postprocess: 'none' },
  // U²-Net (https://arxiv.org/abs/2005.09007): 320 by 320, ImageNet statistics; also returns its side outputs.
  u2net: {
    width: 320,
    height: 320,
    mean: '0.485,0.456,0.406',
    deviation: '0.229,0.224,0.225',
    postprocess: 'min-max',
  },
};

export const mattingFamilies: readonly string[] = Object.keys(presets);

const maxSide = 4_096;
/** An image file of a few hundred bytes can be thousands of times as long as wide. */
const longSides = 4;

/** Reads the options of one of the matting families. Options that a preset has may be left out. */
export function readMattingNetwork(family: string, options: Readonly<Record<string, unknown>> = {}): ReadNetwork {
  const preset = presets[family] ?? {};
  const reader = new OptionReader({ ...withoutOtherSize(preset, options), ...options });
  for (const name of Object.keys(options)) {
    if ((mattingOptionNames as readonly string[]).includes(name)) continue;
    reader.report(name, `is no option of the family ${family}; there are ${mattingOptionNames.join(', ')}`);
  }
  const network: MattingNetwork = {
    size: sizeOf(reader),
    resampling: reader.choice('resampling', resamplingFilters, 'bilinear'),
    scale: reader.positive('scale', 1 / 255),
    mean: reader.channels('mean'),
    deviation: reader.channels('deviation', { isDivisor: true }),
    output: reader.text('output'),
    postprocess: reader.choice('postprocess', postprocesses),
  };
  const { problems } = reader;
  return { network: problems.length === 0 ? network : null, problems };
}

/** Returns the pixels of the largest image that a network takes; 0 for other families and wrong options. */
export function mattingPixels(family: string, options?: Readonly<Record<string, unknown>>): number {
  const size = mattingFamilies.includes(family) ? readMattingNetwork(family, options).network?.size : undefined;
  if (size === undefined) return 0;
  return size.kind === 'fixed' ? size.width * size.height : size.shortSide * size.maxLongSide;
}

const sizeNames: readonly string[] = ['width', 'height', 'shortSide', 'maxLongSide', 'multipleOf'];

/** A manifest that names a size of one kind replaces a preset's size of the other kind. */
function withoutOtherSize(preset: Options, options: Options): Options {
  const isFixed = options.width !== undefined || options.height !== undefined;
  const isScaled = options.shortSide !== undefined || options.multipleOf !== undefined;
  if (!isFixed && !(isScaled && preset.width !== undefined)) return preset;
  return Object.fromEntries(Object.entries(preset).filter(([name]) => !sizeNames.includes(name)));
}

function sizeOf(reader: OptionReader): MattingSize {
  const isScaled = reader.has('shortSide') || reader.has('multipleOf') || reader.has('maxLongSide');
  if (!isScaled) {
    return { kind: 'fixed', width: reader.side('width'), height: reader.side('height') };
  }
  for (const name of ['width', 'height'] as const) {
    if (reader.has(name)) reader.report(name, 'is the size of all images; leave it out, or shortSide and multipleOf');
  }
  const shortSide = reader.side('shortSide');
  const multipleOf = reader.side('multipleOf', 1);
  const maxLongSide = reader.side('maxLongSide', Math.min(maxSide, longSides * shortSide));
  if (maxLongSide < shortSide) reader.report('maxLongSide', 'must not be less than shortSide');
  if (multipleOf > shortSide) reader.report('multipleOf', 'must not be greater than shortSide');
  return { kind: 'scaled', shortSide, maxLongSide, multipleOf };
}

class OptionReader {
  readonly problems: ReadNetwork['problems'] = [];

  constructor(private readonly options: Options) {}

  report(name: string, message: string): void {
    this.problems.push({ path: `familyOptions.${name}`, message });
  }

  has(name: OptionName): boolean {
    return this.options[name] !== undefined;
  }

  side(name: OptionName, otherwise?: number): number {
    const value = this.options[name] ?? otherwise;
    if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= maxSide) return Number(value);
    this.report(name, `must be a whole number of pixels from 1 to ${maxSide}`);
    return 1;
  }

  positive(name: OptionName, otherwise: number): number {
    const value = this.options[name] ?? otherwise;
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
    this.report(name, 'must be a number above 0');
    return otherwise;
  }

  channels(name: OptionName, { isDivisor = false } = {}): Rgb {
    const value = this.options[name];
    const numbers = typeof value === 'string' ? value.split(',').map(parseNumber) : [value, value, value];
    const [red, green, blue] = numbers;
    const isWhole =
      numbers.length === 3 && numbers.every((part) => Number.isFinite(part) && (!isDivisor || Number(part) > 0));
    if (isWhole) return [Number(red), Number(green), Number(blue)];
    const bound = isDivisor ? ' above 0' : '';
    this.report(name, `must be a number${bound}, or three with commas for red, green and blue`);
    return [1, 1, 1];
  }

  text(name: OptionName): string | null {
    const value = this.options[name];
    if (value === undefined || (typeof value === 'string' && value !== '')) return value ?? null;
    this.report(name, 'must be the name of an output');
    return null;
  }

  choice<T extends string>(name: OptionName, choices: readonly T[], otherwise?: T): T {
    const value = this.options[name] ?? otherwise;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) this.report(name, `must be one of ${choices.join(', ')}`);
    return found ?? (choices[0] as T);
  }
}

function parseNumber(text: string): number {
  return text.trim() === '' ? NaN : Number(text);
}
