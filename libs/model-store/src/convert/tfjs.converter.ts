import { basename, dirname } from 'node:path';
import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { filesBelow } from '../files-below.js';
import { invalidFile } from './invalid-file.js';
import { OutputFolder } from './output-folder.js';
import { emitLayersGraph } from './tfjs/layers-graph.js';
import { readLayersModel } from './tfjs/layers-model.js';

/**
 * Layers models of TensorFlow.js → graphs, channels first. Every `model.json` of the input (or `model.min.js`, a script
 * that exports the same) becomes a graph named after its folder: `x2/model.json` is `x2.onnx`; at the top level it is
 * `model.onnx`. No options.
 */
export async function convertTfjs(request: ConversionRequest): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, []);
  const { inputFolder } = request;
  const models = await modelFiles(inputFolder);
  if (models.length === 0) throw invalidFile('model.json', 'it is missing');
  const output = new OutputFolder(request);
  await output.writing(async () => {
    for (const file of models) {
      const graph = emitLayersGraph(file, await readLayersModel(inputFolder, file));
      await output.writeGraph(graph, graphName(file));
    }
  });
  return { converter: converterVersions.tfjs, files: output.files };
}

async function modelFiles(folder: string): Promise<string[]> {
  return (await filesBelow(folder)).filter((path) => /(?:^|\/)model(\.json|\.min\.js)$/.test(path));
}

function graphName(file: string): string {
  const folder = dirname(file);
  return folder === '.' ? 'model.onnx' : `${basename(folder)}.onnx`;
}
