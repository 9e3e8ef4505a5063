import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { InputFile } from './input-file.js';
import { invalidFile } from './invalid-file.js';
import { emitFlowGraph } from './ncnn/flow-graph.js';
import { parseParamFile } from './ncnn/param-file.js';
import { WeightStream } from './ncnn/weight-stream.js';
import { OutputFolder } from './output-folder.js';

/**
 * A RIFE flow network of ncnn → `model.onnx`. The input is one `<name>.param` with `<name>.bin` beside it. No options.
 */
export async function convertNcnn(request: ConversionRequest): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, []);
  const [paramFile, ...others] = (await readdir(request.inputFolder)).filter((name) => name.endsWith('.param'));
  if (paramFile === undefined || others.length > 0) throw invalidFile('*.param', 'there must be exactly one');
  const layers = parseParamFile(paramFile, await readFile(join(request.inputFolder, paramFile), 'utf8'));
  const weights = await InputFile.open(request.inputFolder, paramFile.replace(/param$/, 'bin'));
  const output = new OutputFolder(request);
  try {
    const graph = await emitFlowGraph(paramFile, layers, new WeightStream(weights));
    await output.writing(() => output.writeGraph(graph));
  } finally {
    await weights.close();
  }
  return { converter: converterVersions.ncnn, files: output.files };
}
