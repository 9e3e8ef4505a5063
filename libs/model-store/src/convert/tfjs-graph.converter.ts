import { PlatformError } from '#common';
import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionOptions, ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { OutputFolder } from './output-folder.js';
import { emitGraphModel } from './tfjs/graph-model-graph.js';
import { readGraphModel } from './tfjs/graph-model.js';

const file = 'model.json';

/**
 * A part of a graph model of TensorFlow.js → `model.onnx`. The option `input` names the node that the graph's input
 * replaces, `outputs` the nodes that it returns: `boxes=Squeeze,scores=Sigmoid`.
 */
export async function convertTfjsGraph(request: ConversionRequest): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, ['input', 'outputs']);
  const cut = { input: textOption(request.options, 'input'), outputs: outputsOf(request.options) };
  const model = await readGraphModel(request.inputFolder, file);
  const output = new OutputFolder(request);
  await output.writing(() => output.writeGraph(emitGraphModel(file, model, cut), 'model.onnx'));
  return { converter: converterVersions['tfjs-graph'], files: output.files };
}

function textOption(options: ConversionOptions, name: string): string {
  const value = options[name];
  if (typeof value === 'string' && value !== '') return value;
  throw badOption(name, 'must name a node');
}

function outputsOf(options: ConversionOptions): Map<string, string> {
  const pairs = textOption(options, 'outputs')
    .split(',')
    .map((pair) => pair.split('=').map((side) => side.trim()));
  return new Map(
    pairs.map(([output, node, ...others]) => {
      if (output && node && others.length === 0) return [output, node];
      throw badOption('outputs', 'must be pairs of an output and its node: boxes=Squeeze,scores=Sigmoid');
    }),
  );
}

function badOption(name: string, reason: string): PlatformError {
  const message = `The converter's option \`${name}\` ${reason}.`;
  return new PlatformError('INVALID_MODEL', message, `converter.options.${name}`);
}
