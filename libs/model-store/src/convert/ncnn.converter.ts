import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { InputFile } from './input-file.js';
import { invalidFile } from './invalid-file.js';
import { emitNcnnGraph } from './ncnn/ncnn-graph.js';
import { parseParamFile } from './ncnn/param-file.js';
import { WeightStream } from './ncnn/weight-stream.js';
import type { OnnxGraph } from '../onnx/index.js';
import { OutputFolder } from './output-folder.js';

/**
 * Networks of ncnn: a RIFE flow network or upscalers. Each input is a `<name>.param` with `<name>.bin` beside it. One
 * becomes `model.onnx`, several become `<name>.onnx`. No options.
 */
export async function convertNcnn(request: ConversionRequest): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, []);
  const paramFiles = (await readdir(request.inputFolder)).filter((name) => name.endsWith('.param')).sort();
  if (paramFiles.length === 0) throw invalidFile('*.param', 'there is none');
  const output = new OutputFolder(request);
  await output.writing(async () => {
    for (const paramFile of paramFiles) {
      const name = paramFiles.length === 1 ? 'model.onnx' : paramFile.replace(/param$/, 'onnx');
      await output.writeGraph(await readNetwork(request.inputFolder, paramFile), name);
    }
  });
  return { converter: converterVersions.ncnn, files: output.files };
}

async function readNetwork(folder: string, paramFile: string): Promise<OnnxGraph> {
  const layers = parseParamFile(paramFile, await readFile(join(folder, paramFile), 'utf8'));
  const weights = await InputFile.open(folder, paramFile.replace(/param$/, 'bin'));
  try {
    return await emitNcnnGraph(paramFile, layers, new WeightStream(weights));
  } finally {
    await weights.close();
  }
}
