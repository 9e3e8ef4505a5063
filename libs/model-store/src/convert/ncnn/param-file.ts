import { invalidFile } from '../invalid-file.js';

/** One layer of an ncnn network: `Type name inputs outputs … key=value …`. */
export interface NcnnLayer {
  type: string;
  name: string;
  inputs: string[];
  outputs: string[];
  /** Keyed by their number in ncnn's definition of the layer; lists have the number -23300 minus it. */
  parameters: ReadonlyMap<number, number[]>;
}

const magic = '7767517';

/** Parses the text form of a network (`.param`): https://github.com/Tencent/ncnn/wiki/param-and-model-file-structure */
export function parseParamFile(file: string, text: string): NcnnLayer[] {
  const [first, counts, ...lines] = text.trim().split(/\r?\n/);
  if (first?.trim() !== magic) throw invalidFile(file, 'it does not begin with the number of the format');
  const layerCount = Number(counts?.trim().split(/\s+/)[0]);
  if (lines.length !== layerCount) throw invalidFile(file, `it names ${layerCount} layers and has ${lines.length}`);
  return lines.map((line) => parseLayer(file, line));
}

function parseLayer(file: string, line: string): NcnnLayer {
  const [type = '', name = '', inputCount = '', outputCount = '', ...rest] = line.trim().split(/\s+/);
  const [inputs, outputs] = [Number(inputCount), Number(outputCount)];
  if (!Number.isInteger(inputs) || !Number.isInteger(outputs))
    throw invalidFile(file, `its layer ${name} is cut short`);
  return {
    type,
    name,
    inputs: rest.slice(0, inputs),
    outputs: rest.slice(inputs, inputs + outputs),
    parameters: new Map(rest.slice(inputs + outputs).map(parseParameter)),
  };
}

/** A list starts with its length. */
function parseParameter(text: string): [number, number[]] {
  const [key = '', value = ''] = text.split('=');
  const numbers = value.split(',').map(Number);
  const number = Number(key);
  return number < -23_299 ? [-23_300 - number, numbers.slice(1)] : [number, numbers];
}
