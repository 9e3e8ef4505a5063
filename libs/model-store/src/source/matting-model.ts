import { type ModelFiles, readJsonObject } from '../convert/safetensors/model-files.js';
import type { StoredValue } from '../onnx/index.js';
import type { ExportedModel } from './exported-model.js';
import { readGraphPorts, type GraphPorts } from './graph-ports.js';
import { isPartOf } from './hub-files.js';
import { pullError } from './pull-error.js';
import { lastPart, listNames } from './text-model-layout.js';

/*
 * Networks that separate foreground from background: one graph, and beside it `config.json` and
 * `preprocessor_config.json` of transformers.
 */

const preprocessorFile = 'preprocessor_config.json';

const known = /birefnet|rmbg|modnet|isnet|u2net|inspyrenet/i;

/** True if a name of a class or a type is that of such a network. */
export function isMattingName(name: string): boolean {
  return known.test(name);
}

/** Networks whose published code stretches the output, although the graph ends in a sigmoid. */
const stretched = /rmbg-?1|briarmbg|isnet|u2net/i;

/** Graphs, best first: a processor computes in float32, and integers lose fine edges. */
const suffixes = ['', '_fp16', '_quantized', '_q8', '_int8', '_uint8', '_q4', '_q4f16'];

type Options = Record<string, string | number>;

/**
 * Describes such a model, with the graph that `file` names; null for every other one. Fails with `MODEL_PULL_FAILED` that
 * says what in its files cannot be followed.
 */
export async function describeMatting(
  files: ModelFiles,
  { where, file }: { where: string; file?: string },
): Promise<ExportedModel | null> {
  const { names } = files;
  const hasParts = names.has('config.json') && names.has(preprocessorFile) && !names.has('tokenizer.json');
  const graphs = [...names].filter((path) => /^(?:onnx\/)?model\w*\.onnx$/.test(path));
  if (!hasParts || graphs.length === 0 || (file !== undefined && !file.endsWith('.onnx'))) return null;
  const config = await readJsonObject(files, 'config.json');
  const { architectures, model_type: type } = config;
  const published = [architectures ?? []].flat().map(String);
  if (published.length > 0 && !published.some(isMattingName)) return null;
  const graphFile = chooseGraph(graphs, { where, file });
  const graph = await readGraph(files, graphFile);
  const output = chooseOutput(graph);
  if (output === null) {
    // Without the name of a class, only the graph tells that it is another kind of model.
    if (published.length === 0 && !isMattingName(String(type))) return null;
    throw pullError(`${where}: ${graphFile} does not return one matte for one image, as a matting network does.`);
  }
  const preprocessor = await readJsonObject(files, preprocessorFile);
  const spelled = [lastPart(where), String(type), ...published].join(' ');
  return {
    family: 'matting',
    graphFile,
    familyOptions: {},
    settings: {
      ...sizeOptions(preprocessor, { graph, where }),
      ...sampleOptions(preprocessor, where),
      ...(graph.outputs.length > 1 && { output: output.name }),
      postprocess: postprocessOf(output.operator, spelled),
    },
    paths: ['config.json', preprocessorFile, ...[...names].filter((path) => isPartOf(path, graphFile))],
    config: { ...config, model_type: published[0] ?? type },
    preprocessor,
    generation: {},
  };
}

function chooseGraph(graphs: readonly string[], { where, file }: { where: string; file?: string }): string {
  if (file !== undefined) {
    const found = graphs.find((path) => path === file || lastPart(path) === file);
    if (found === undefined) throw pullError(`${where} has no graph ${file}. ${listNames(graphs)}`);
    return found;
  }
  const paths = suffixes.flatMap((suffix) => [`onnx/model${suffix}.onnx`, `model${suffix}.onnx`]);
  return paths.find((path) => graphs.includes(path)) ?? graphs[0] ?? '';
}

async function readGraph(files: ModelFiles, path: string): Promise<GraphPorts> {
  const file = await files.open(path);
  try {
    return await readGraphPorts(file);
  } finally {
    await file.close?.();
  }
}

/** The first output of one plane, as large as the input where sizes are known; null for a graph of another kind. */
function chooseOutput({ inputs, outputs }: GraphPorts): GraphPorts['outputs'][number] | null {
  const [image, ...others] = inputs;
  const isImage = others.length === 0 && image?.dimensions.length === 4 && mayBe(image.dimensions[1], 3);
  if (!isImage || image === undefined) return null;
  const planes = outputs.filter((output) => isPlane(output) && !/depth/i.test(output.name));
  return planes.find(({ dimensions }) => hasSizeOf(dimensions, image.dimensions)) ?? planes[0] ?? null;
}

/** `[1, 1, height, width]` or `[1, height, width]`; dynamic dimensions have names. Other exporters omit the shape. */
function isPlane({ dimensions }: StoredValue): boolean {
  return dimensions.length <= 4 && dimensions.slice(0, -2).every((size) => mayBe(size, 1));
}

function hasSizeOf(dimensions: StoredValue['dimensions'], image: StoredValue['dimensions']): boolean {
  return dimensions.length >= 2 && [-1, -2].every((at) => dimensions.at(at) === image.at(at));
}

function mayBe(size: string | number | undefined, wanted: number): boolean {
  return typeof size === 'string' || size === wanted;
}

/** Values from 0 to 1 are the matte itself. */
function postprocessOf(operator: string, names: string): string {
  if (!['Sigmoid', 'HardSigmoid', 'Clip', 'Div'].includes(operator)) return 'sigmoid';
  return stretched.test(names) ? 'min-max' : 'none';
}

/** A multiple that all networks of these kinds take. */
const defaultMultiple = 32;

/** The only size that the graph takes, or else that of its processor. */
function sizeOptions(
  preprocessor: Record<string, unknown>,
  { graph, where }: { graph: GraphPorts; where: string },
): Options {
  const [, , height, width] = graph.inputs[0]?.dimensions ?? [];
  if (isSide(width) && isSide(height)) return { width, height };
  if (preprocessor['do_pad'] === true) throw pullError(`${where} pads images, which the family matting does not.`);
  const size = preprocessor['size'];
  if (isSide(size)) return { width: size, height: size };
  const sides = (typeof size === 'object' && size !== null ? size : {}) as Record<string, unknown>;
  if (isSide(sides['width']) && isSide(sides['height'])) return { width: sides['width'], height: sides['height'] };
  if (!isSide(sides['shortest_edge'])) {
    throw pullError(`Neither the graph of ${where} nor its ${preprocessorFile} says what size of images it takes.`);
  }
  const { size_divisibility: named, size_divisor: other, ensure_multiple_of: older } = preprocessor;
  return {
    shortSide: sides['shortest_edge'],
    ...(isSide(sides['longest_edge']) && { maxLongSide: sides['longest_edge'] }),
    multipleOf: [named, other, older].find(isSide) ?? defaultMultiple,
  };
}

function isSide(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0;
}

/** Numbers of Pillow's filters. */
const filters: Readonly<Record<number, string>> = { 1: 'lanczos', 2: 'bilinear', 3: 'bicubic' };

function sampleOptions(preprocessor: Record<string, unknown>, where: string): Options {
  const { resample, do_rescale: rescales, rescale_factor: factor, do_normalize: normalizes } = preprocessor;
  const filter = resample === undefined ? 'bilinear' : filters[Number(resample)];
  if (filter === undefined) throw pullError(`${where} resamples with the filter ${String(resample)}; use 1, 2 or 3.`);
  const scale = rescales === false ? 1 : factor;
  const isDefault = typeof scale !== 'number' || Math.abs(scale * 255 - 1) < 1e-6;
  return {
    ...(filter !== 'bilinear' && { resampling: filter }),
    ...(!isDefault && { scale }),
    mean: normalizes === false ? 0 : channelsOf(preprocessor, 'image_mean', where),
    deviation: normalizes === false ? 1 : channelsOf(preprocessor, 'image_std', where),
  };
}

function channelsOf(preprocessor: Record<string, unknown>, name: string, where: string): string | number {
  const values = [preprocessor[name]].flat();
  const [first] = values;
  const isKnown = (values.length === 1 || values.length === 3) && values.every((value) => typeof value === 'number');
  if (!isKnown) throw pullError(`${preprocessorFile} of ${where} has no ${name} of one or three numbers.`);
  return values.every((value) => value === first) ? Number(first) : values.join(',');
}
